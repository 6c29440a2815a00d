/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * The writers' barrier where this process may not run on every CPU: this program plays a cpuset
 * without CPU 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "tracer/base/ring/ring.h"

#define CLOSED 1        /* the CPU that is not in the cpuset */

static bool closed;
static atomic_int pauses, refused;

/* These take the place of the C library's. */
int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
	if (closed && CPU_COUNT_S(size, set) == 1 && CPU_ISSET_S(CLOSED, size, set)) {
		refused++;
		errno = EINVAL;
		return -1;
	}
	return syscall(SYS_sched_setaffinity, pid, size, set) < 0 ? -1 : 0;
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
	pauses++;
	return (int)syscall(SYS_nanosleep, time, left);
}

static atomic_bool done;
static atomic_int tid;

static void *spin(void *unused)
{
	cpu_set_t one;

	(void)unused;
	CPU_ZERO(&one);
	CPU_SET(CLOSED, &one);
	sched_setaffinity(0, sizeof(one), &one);
	tid = (int)syscall(SYS_gettid);
	while (!done)
		;
	return NULL;
}

/* How often the thread had to leave its CPU. */
static long preemptions(void)
{
	char path[64], line[200];
	long n = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "nonvoluntary_ctxt_switches:", 27))
			n = atol(line + 27);
	if (f)
		fclose(f);
	return n;
}

static void visits_cpus_that_are_closed(void)
{
	struct timespec start, end;
	pthread_t thread;
	cpu_set_t own;
	long before;
	int fd, n = 0;

	if (sched_getaffinity(0, sizeof(own), &own) || !CPU_ISSET(CLOSED, &own))
		SKIP("there is no CPU 1");
	fd = open("/proc/sys/vm/stat_refresh", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		SKIP("the kernel visits no CPUs for us: /proc/sys/vm/stat_refresh cannot be "
		     "opened");
	close(fd);
	CHECK(!pthread_create(&thread, NULL, spin, NULL));
	while (!tid)
		sched_yield();
	closed = true;
	before = preemptions();
	clock_gettime(CLOCK_MONOTONIC, &start);
	/* (The thread may have had to wait for its CPU all the time.) */
	while (n < 20 || (preemptions() <= before && n < 10000)) {
		barrier_cpus();
		n++;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("# %lld us each\n",
	       ((long long)(end.tv_sec - start.tv_sec) * 1000000 +
		(end.tv_nsec - start.tv_nsec) / 1000) /
		       n);
	CHECK(refused == n);
	CHECK(pauses == 0);
	CHECK(preemptions() > before);
	closed = false;
	done = true;
	pthread_join(thread, NULL);
}

int main(void)
{
	CASE(visits_cpus_that_are_closed);
	return test_summary();
}
