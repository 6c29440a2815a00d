/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For programs of tests: the numbers that the kernel's records have of threads. */
#ifndef TESTS_LIB_KERNEL_PID_H
#define TESTS_LIB_KERNEL_PID_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static inline int kernel_number(int number)
{
	char command[4096];
	struct stat st;
	FILE *f;

	/* In the initial PID namespace it is the same, and no other process is needed. */
	if (!stat("/proc/self/ns/pid", &st) && st.st_ino == 0xEFFFFFFCu)
		return number;
	snprintf(command, sizeof(command), "exec '%s/tests/lib/kernel_pid' %d",
		 getenv("BUILD") ? getenv("BUILD") : "build", number);
	f = popen(command, "r");
	if (!f || fscanf(f, "%d", &number) != 1)
		number = -1;
	if (f)
		pclose(f);
	return number;
}

static inline int kernel_pid(void)
{
	return kernel_number((int)getpid());
}

#endif
