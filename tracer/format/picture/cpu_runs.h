/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which runs are known: a run is the time of a thread on a CPU, from the switch to it up to the
 * next switch of this CPU. Records of switches may be missing, because inclusion sets leave threads
 * out or because events were lost. Then a thread has left its CPU at a time that no record has, and
 * pictures must not show that it runs up to the next record. Private to track.c.
 *
 * A run is not known if
 *
 *  - the next switch of the CPU is from another thread;
 *  - the thread runs on another CPU, or another thread does a system call on this one, before the
 *    CPU switches;
 *  - events of the CPU's stream were lost before the CPU switches;
 *  - inclusion sets leave the thread out: nothing is recorded when it makes room for another thread
 *    that is left out. The thread is known to be in the sets if it has an event that the kernel
 *    records for threads in the sets alone: a system call, an interrupt during its run, or a switch
 *    from it to the idle thread. (tracefs records other switches and wakeups if one of the two
 *    threads is in the sets.)
 *
 * A first run through the events finds this, the second one asks. Memory is bounded: RUNS_MAX runs
 * that are not known; what begins later than the first further one is not known, either. Threads:
 * those of `struct slices`. No lock: all of it belongs to its caller.
 */
#ifndef TRACER_PICTURE_CPU_RUNS_H
#define TRACER_PICTURE_CPU_RUNS_H

#include "tracer/view/slice/slice.h"

#define RUNS_MAX (1u << 20)

/* In the first run, a thread of `struct slices`. */
struct run_thread {
	struct slice_track slices;
	uint32_t cpu;           /* that runs it, and 1; 0: none */
	bool in_sets;           /* is known to be in the inclusion sets */
};

struct cpu_runs;

/* tracked: inclusion sets leave threads out. NULL: no memory. */
struct cpu_runs *cpu_runs_create(bool tracked);
void cpu_runs_destroy(struct cpu_runs *v);      /* NULL is allowed */

/* ---- the first run, in the order of time; threads may be NULL: not known ---- */

/* The CPU switches. stream: of the event. idle: there is no next thread. */
void cpu_runs_switch(struct cpu_runs *v, const struct md_stream *stream, uint32_t cpu,
		     uint64_t time, struct run_thread *prev, struct run_thread *next, bool idle);
/* The thread has an event that only threads in the inclusion sets have. call: a system call. */
void cpu_runs_see(struct cpu_runs *v, uint32_t cpu, struct run_thread *thread, bool call);
/* The CPU's stream of this class has lost events. */
void cpu_runs_lose(struct cpu_runs *v, const struct md_stream *stream, uint32_t cpu);
/* After the last event, while the threads are still in `threads`. False: no memory. */
bool cpu_runs_finish(struct cpu_runs *v, const struct slices *threads);

/* ---- the second run; v is NULL if there was no first one: then all runs are known ---- */

/* Whether it is known how long the thread runs to which the CPU switches now. */
bool cpu_runs_is_known(struct cpu_runs *v, uint32_t cpu, uint64_t time, int64_t tid);
/* Whether inclusion sets may leave the thread out. */
bool cpu_runs_leave_out(const struct cpu_runs *v, int64_t tid);

#endif
