/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When the scheduler runs a thread that was woken (sched(7)). The daemon's threads work for some
 * microseconds, and a program waits for the result.
 */
#ifndef TRACER_OS_SLICE_H
#define TRACER_OS_SLICE_H

#include <stdint.h>

/*
 * The calling thread, if its policy is SCHED_OTHER, and threads that it creates later have the
 * shortest slice: they run before a busy thread that has the CPU. With the usual slice of
 * milliseconds they wait until that one was preempted. No thread gets more time by it. Needs Linux
 * 6.12; older kernels ignore it. Keeps the nice value.
 */
void slice_shorten(void);
/*
 * The calling thread, if its policy is SCHED_OTHER, does not preempt the thread that wakes it, or
 * any other (SCHED_BATCH), and has the usual slice. For work that may be done a little later.
 */
void slice_defer(void);
/*
 * The calling thread runs before all others, for `runtime` ns of each `period` ns at most
 * (SCHED_DEADLINE); if that is not permitted, it gets a nice value of -15, or nothing. Threads and
 * processes that it creates do not inherit it.
 */
void slice_reserve(uint64_t runtime, uint64_t period);

#endif
