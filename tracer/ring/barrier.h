/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The writers' barrier: when it returns, every event whose section began before the call is either below its ring's head or
 * will start over, with a new time and a new look at the switch bytes (guarantee G6 of ring.h).
 *
 * CPU rings: a thread runs once on each CPU, which aborts any restartable section that was preempted there or makes it
 * finish. On CPUs that are online but outside of this process' cpuset, root's daemon has the kernel do that; any other uses
 * membarrier(2) and a pause, which takes 10 to 20 ms. Thread rings: the generation in the head is changed, so that a pending
 * compare-and-exchange fails.
 *
 * May be called from any thread; concurrent calls are fine. Takes about 30 us per CPU.
 */
#ifndef TRACER_RING_BARRIER_H
#define TRACER_RING_BARRIER_H

#include "tracer/ring/region.h"

/* The clock may be read before the call: every event older than that reading is visible after it. */
void barrier(struct region *const *regions, size_t count);
/* Sections of the kernel's: whoever was recording an event, with preemption off, has finished. */
void barrier_cpus(void);

#endif
