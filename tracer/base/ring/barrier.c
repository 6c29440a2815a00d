// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tracer/base/os/cpus.h"
#include "tracer/base/os/slice.h"
#include "tracer/base/ring/ring.h"

#define CPUS_MAX 4096
#define MEMBARRIER_GLOBAL (1 << 0)

/*
 * Makes the kernel run a work item on each online CPU and waits for all of them: it preempts the
 * thread that runs there, which aborts its section. A cpuset does not limit that. Only root may do
 * it; it takes some tens of microseconds per idle CPU.
 */
static bool refresh_statistics(void)
{
	int fd = open("/proc/sys/vm/stat_refresh", O_RDONLY | O_CLOEXEC);
	char none[1];
	ssize_t n = -1;

	if (fd < 0)
		return false;
	/*
	 * The read does the work and returns no data. EINVAL says that a counter was negative: the
	 * CPUs were visited.
	 */
	n = read(fd, none, sizeof(none));
	n = n < 0 && errno != EINVAL ? -1 : 0;
	close(fd);
	return n == 0;
}

/*
 * For CPUs that this process may not run on: when all CPUs have scheduled, a writer there has left
 * its section or was preempted.
 */
static void wait_for_cpus(void)
{
	struct timespec pause = { .tv_nsec = 1000000 };

	if (refresh_statistics())
		return;
	syscall(SYS_membarrier, MEMBARRIER_GLOBAL, 0, 0);
	nanosleep(&pause, NULL);
}

/*
 * Whether one of these CPUs is online. A section on a CPU that comes online later begins after the
 * barrier. If the kernel does not say, all CPUs count as online.
 */
static bool any_online(const cpu_set_t *cpus, size_t size)
{
	cpu_set_t *online = CPU_ALLOC(CPUS_MAX);
	bool any = true;

	if (online && cpus_read(CPUS_ONLINE, online, size)) {
		CPU_AND_S(size, online, online, cpus);
		any = CPU_COUNT_S(size, online) != 0;
	}
	CPU_FREE(online);
	return any;
}

static void visit_cpus(void)
{
	size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
	cpu_set_t *before = CPU_ALLOC(CPUS_MAX), *one = CPU_ALLOC(CPUS_MAX),
		  *missed = CPU_ALLOC(CPUS_MAX);
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct sched_param fifo = { .sched_priority = 1 }, normal = { 0 };
	bool real_time;

	if (!before || !one || !missed || sched_getaffinity(0, size, before) < 0) {
		wait_for_cpus();
		goto out;
	}
	CPU_ZERO_S(size, missed);
	/*
	 * If the process may, it runs before the busy threads of each CPU; otherwise it waits for
	 * its turn there.
	 */
	real_time = sched_getscheduler(0) == SCHED_OTHER &&
		    sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &fifo) == 0;
	for (int cpu = 0; cpu < cpus && cpu < CPUS_MAX; cpu++) {
		CPU_ZERO_S(size, one);
		CPU_SET_S(cpu, size, one);
		if (sched_setaffinity(0, size, one) < 0)
			CPU_SET_S(cpu, size, missed);   /* offline, or not in our cpuset */
	}
	sched_setaffinity(0, size, before);
	if (real_time) {
		sched_setscheduler(0, SCHED_OTHER, &normal);
		slice_shorten();        /* A change of the policy ends that. */
	}
	if (cpus > CPUS_MAX || (CPU_COUNT_S(size, missed) && any_online(missed, size)))
		wait_for_cpus();
out:
	CPU_FREE(missed);
	CPU_FREE(before);
	CPU_FREE(one);
}

void barrier(struct region *const *regions, size_t count)
{
	bool cpus = false;

	/*
	 * Pairs with the test of the switch byte in a section: one that starts over sees the stores
	 * before this.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (size_t i = 0; i < count; i++) {
		const struct region *r = regions[i];

		if (r->geo.kind == TRAIL_RINGS_CPU) {
			cpus = true;
			continue;
		}
		for (uint32_t ring = 0; ring < r->geo.ring_count; ring++)
			__atomic_fetch_add(&region_ring(r, ring)->head, TRAIL_HEAD_GENERATION,
					   __ATOMIC_ACQ_REL);
	}
	if (cpus)
		visit_cpus();
}

void barrier_cpus(void)
{
	visit_cpus();
}
