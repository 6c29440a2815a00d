/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel seems to allow this process the CPUs 0 to cpus - 1. Include it first, in one file of a
 * program only.
 */
#ifndef TESTS_LIB_FAKE_CPUS_H
#define TESTS_LIB_FAKE_CPUS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>

static int cpus = 2;

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	(void)pid;
	CPU_ZERO_S(size, set);
	for (int i = 0; i < cpus; i++)
		CPU_SET_S((size_t)i, size, set);
	return 0;
}

#endif
