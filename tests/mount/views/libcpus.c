/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/* For LD_PRELOAD, in the daemon: the kernel seems to allow it the CPUs 0 to $CPUS - 1. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	const char *cpus = getenv("CPUS");

	(void)pid;
	CPU_ZERO_S(size, set);
	for (int i = 0; i < (cpus ? atoi(cpus) : 1); i++)
		CPU_SET_S((size_t)i, size, set);
	return 0;
}
