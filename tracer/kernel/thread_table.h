/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel's threads are: the process, its parent and the name of each thread id at each
 * time of a recording. Records of tracefs have only the thread id. The table keeps births, new
 * names and ends with their times (thread_events.c). Threads of which no record came are looked up
 * in /proc once; the answer holds for all the time without a record. In a PID namespace /proc has
 * other numbers than the records: there a list with both (task/task.h) is read, once and whenever
 * records were lost.
 *
 * Times are those of the trace. No locks: the caller has one.
 */
#ifndef TRACER_KERNEL_THREAD_TABLE_H
#define TRACER_KERNEL_THREAD_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/base/err.h"

#define KTHREAD_COMM 16

struct kthread {
	int32_t pid;                    /* the process; -1: unknown */
	int32_t ppid;                   /* its parent; -1: unknown */
	char comm[KTHREAD_COMM];        /* padded with NULs; empty: unknown */
};

struct kthreads;

/* What knows the threads without a record. */
enum kthreads_source { KTHREADS_NOTHING, KTHREADS_PROC, KTHREADS_LIST };

/* NULL: no memory. If memory runs out later, the information is lost. */
struct kthreads *kthreads_create(enum kthreads_source source);
void kthreads_destroy(struct kthreads *k);      /* NULL is allowed */

/* The number of a thread in /proc; 0: unknown. */
int32_t kthreads_number(struct kthreads *k, int32_t tid);
/* Asks for all threads. 0, or as tasks_read: those without a record stay unknown. */
int kthreads_scan(struct kthreads *k, struct tr_err *err);

/*
 * Records of the kernel, in the order of their times. comm: KTHREAD_COMM bytes. flags: of clone(2);
 * CLONE_THREAD: the new task is a thread of the maker's process; CLONE_PARENT: it has the maker's
 * parent.
 */
void kthreads_born(struct kthreads *k, uint64_t time, int32_t tid, int32_t maker, uint64_t flags,
		   const char *comm);
void kthreads_renamed(struct kthreads *k, uint64_t time, int32_t tid, const char *before,
		      const char *after);
void kthreads_ended(struct kthreads *k, uint64_t time, int32_t tid, const char *comm);
/* Records since then may have been lost. */
void kthreads_missed(struct kthreads *k, uint64_t since);

/*
 * Thread 0, of which each CPU has one, has process 0 and no name. No record says which process
 * becomes the parent when one ends: /proc is asked; of a process that has ended by then, the parent
 * remains the one that ended.
 */
void kthreads_at(struct kthreads *k, uint64_t time, int32_t tid, struct kthread *out);

#endif
