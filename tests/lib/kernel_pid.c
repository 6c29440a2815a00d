/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * kernel_pid PID: prints the number that the kernel's records have of this thread, which is another
 * one in a PID namespace. 77: it is not known.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tracer/kernel/task/task.h"

int main(int argc, char **argv)
{
	int32_t number = argc > 1 ? atoi(argv[1]) : 0;
	struct tasks tasks = { 0 };
	struct tr_err err = TR_ERR_INIT;

	if (!tasks_global() && (tasks_read(&tasks, &err) || !tasks_find(&tasks, number))) {
		fprintf(stderr, "%s\n", *err.sentence ? err.sentence : "no such thread");
		return 77;
	}
	printf("%d\n", (int)tasks_translate(&tasks, number));
	tasks_deinit(&tasks);
	return 0;
}
