// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tracer/ring/barrier.h"

#define CPUS_MAX 4096
#define MEMBARRIER_GLOBAL (1 << 0)

/* A CPU that we may not run on: whoever writes there is past its section, or was preempted, after all CPUs have scheduled. */
static void elsewhere(void)
{
	struct timespec pause = { .tv_nsec = 1000000 };

	syscall(SYS_membarrier, MEMBARRIER_GLOBAL, 0, 0);
	nanosleep(&pause, NULL);
}

static void visit_cpus(void)
{
	size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
	cpu_set_t *before = CPU_ALLOC(CPUS_MAX), *one = CPU_ALLOC(CPUS_MAX);
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct sched_param fifo = { .sched_priority = 1 }, normal = { 0 };
	bool missed = false, real_time;

	if (!before || !one || sched_getaffinity(0, size, before) < 0) {
		elsewhere();
		goto out;
	}
	/* Ahead of the busy threads on each CPU, if we are allowed to: else we wait for our turn there. */
	real_time = sched_getscheduler(0) == SCHED_OTHER && sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &fifo) == 0;
	for (int cpu = 0; cpu < cpus && cpu < CPUS_MAX; cpu++) {
		CPU_ZERO_S(size, one);
		CPU_SET_S(cpu, size, one);
		if (sched_setaffinity(0, size, one) < 0)
			missed = true;  /* offline, or not in our cpuset */
	}
	sched_setaffinity(0, size, before);
	if (real_time)
		sched_setscheduler(0, SCHED_OTHER, &normal);
	if (missed || cpus > CPUS_MAX)
		elsewhere();
out:
	CPU_FREE(before);
	CPU_FREE(one);
}

void barrier(struct region *const *regions, size_t count)
{
	bool cpus = false;

	/* Pairs with the sections' look at the switch bytes: what was stored before is seen by who starts over. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (size_t i = 0; i < count; i++) {
		const struct region *r = regions[i];

		if (r->geo.kind == TRAIL_RINGS_CPU) {
			cpus = true;
			continue;
		}
		for (uint32_t ring = 0; ring < r->geo.ring_count; ring++)
			__atomic_fetch_add(&region_ring(r, ring)->head, TRAIL_HEAD_GENERATION, __ATOMIC_ACQ_REL);
	}
	if (cpus)
		visit_cpus();
}

void barrier_cpus(void)
{
	visit_cpus();
}
