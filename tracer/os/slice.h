/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slices: how long the scheduler lets a thread run while others wait (sched(7), SCHED_OTHER). The
 * daemon's threads work for some microseconds after they are woken, and a program waits for the
 * result. A thread with a short slice runs before a busy thread that has the CPU; with the usual
 * slice of milliseconds it waits until that one was preempted. No thread gets more time by it.
 */
#ifndef TRACER_OS_SLICE_H
#define TRACER_OS_SLICE_H

/*
 * The calling thread, if its policy is SCHED_OTHER, and threads that it creates later have short
 * slices. Needs Linux 6.12; older kernels ignore it. Keeps the nice value.
 */
void slice_shorten(void);

#endif
