// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/os/slice.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHORTEST 100000         /* ns; the kernel allows no less */

void slice_shorten(void)
{
	/* struct sched_attr of sched_setattr(2), its first version */
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = { .size = sizeof(attr), .policy = SCHED_OTHER, .runtime = SHORTEST };
	int saved = errno;

	if (sched_getscheduler(0) == SCHED_OTHER) {
		attr.nice = getpriority(PRIO_PROCESS, 0);
		syscall(SYS_sched_setattr, 0, &attr, 0);
	}
	errno = saved;
}
