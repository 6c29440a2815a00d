/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who the kernel's threads are: the process that a thread belongs to, and its name, at each time of
 * a recording. Records of tracefs say only the thread. What the kernel told of births, new names
 * and ends (kernel/thread_events.c) is kept here with its time; what it did not tell is asked of
 * /proc, once for each thread, and is then right for all the time since nothing was told of it.
 *
 * Times are those of the trace. No locks: the caller has one.
 */
#ifndef TRACER_KERNEL_THREAD_TABLE_H
#define TRACER_KERNEL_THREAD_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define KTHREAD_COMM 16

struct kthread {
	int32_t pid;                    /* the process; -1: not known */
	char comm[KTHREAD_COMM];        /* padded with NUL; empty: not known */
};

struct kthreads;

/*
 * ask: of /proc: false where that has other numbers than the kernel's records, in a PID namespace.
 * NULL: no memory. When memory runs out later, what was to be noted is not known.
 */
struct kthreads *kthreads_create(bool ask);
void kthreads_destroy(struct kthreads *k);      /* NULL is allowed */

/* Asks /proc for all that there are. */
void kthreads_scan(struct kthreads *k);

/*
 * What the kernel told; in the order of time. comm: KTHREAD_COMM bytes. thread: of the maker's
 * process, else a new one.
 */
void kthreads_born(struct kthreads *k, uint64_t time, int32_t tid, int32_t maker, bool thread,
		   const char *comm);
void kthreads_renamed(struct kthreads *k, uint64_t time, int32_t tid, const char *before,
		      const char *after);
void kthreads_ended(struct kthreads *k, uint64_t time, int32_t tid, const char *comm);
/* Since then the kernel may have had something to tell that was lost. */
void kthreads_missed(struct kthreads *k, uint64_t since);

/* Thread 0, which each CPU has one of, has the process 0 and no name. */
void kthreads_at(struct kthreads *k, uint64_t time, int32_t tid, struct kthread *out);

#endif
