// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/base/os/slice.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHORTEST 100000         /* ns; the kernel allows no less */
#define DEADLINE 6u             /* SCHED_DEADLINE */
#define RESET_ON_FORK 1u        /* SCHED_FLAG_RESET_ON_FORK */
#define NICE (-15)

/* struct sched_attr of sched_setattr(2), its first version */
struct attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static int set_attr(const struct attr *a)
{
	return (int)syscall(SYS_sched_setattr, 0, a, 0);
}

/* Only for a thread that is SCHED_OTHER. Slice: ns; 0: the usual one. */
static void set_slice(uint32_t policy, uint64_t slice)
{
	struct attr a = { .size = sizeof(a), .policy = policy, .runtime = slice };
	int saved = errno;

	if (sched_getscheduler(0) == SCHED_OTHER) {
		a.nice = getpriority(PRIO_PROCESS, 0);
		set_attr(&a);
	}
	errno = saved;
}

void slice_shorten(void)
{
	set_slice(SCHED_OTHER, SHORTEST);
}

void slice_defer(void)
{
	set_slice(SCHED_BATCH, 0);
}

void slice_reserve(uint64_t runtime, uint64_t period)
{
	const struct attr a = { .size = sizeof(a), .policy = DEADLINE, .flags = RESET_ON_FORK,
				.runtime = runtime, .deadline = period, .period = period };

	if (set_attr(&a) < 0)
		setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
}
