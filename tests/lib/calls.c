/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * calls NUMBER [FILE]: that number of getppid(2), or of openat(2) of the file; prints its pid, as
 * the kernel has it.
 * calls: so for each number on standard input.
 *
 * With `getpgrp` as the last argument it calls getpgrp(2) instead of getppid: more calls than the
 * buffers of another test hold, which records getppid of all programs.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/lib/kernel_pid.h"

#ifndef SYS_getpgrp     /* not on aarch64 and riscv64 */
#define SYS_getpgrp SYS_getppid
#endif

int main(int argc, char **argv)
{
	bool group = argc > 1 && !strcmp(argv[argc - 1], "getpgrp");
	long call = group ? SYS_getpgrp : SYS_getppid;
	int n;

	argc -= group;
	n = argc > 1 ? atoi(argv[1]) : 0;
	while (argc == 1 && scanf("%d", &n) == 1) {
		while (n-- > 0)
			syscall(call);
		printf("%d\n", kernel_pid());
		fflush(stdout);
	}
	if (argc == 1)
		return 0;
	for (int i = 0; i < n; i++)
		if (argc > 2)
			close((int)syscall(SYS_openat, AT_FDCWD, argv[2], O_RDONLY, 0));
		else
			syscall(call);
	printf("%d\n", kernel_pid());
	return 0;
}
