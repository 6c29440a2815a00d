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
#ifndef TRACER_KERNEL_TASK_THREAD_TABLE_H
#define TRACER_KERNEL_TASK_THREAD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/base/err.h"
#include "tracer/kernel/task/thread_status.h"

#define KTHREAD_COMM 16

struct kthread {
	int32_t pid;                    /* the process; -1: unknown */
	int32_t ppid;                   /* its parent; -1: unknown */
	char comm[KTHREAD_COMM];        /* padded with NULs; empty: unknown */
	struct kstatus status;
};

/* ---- thread_status.c ---- */

/* Sets process and parent, by the numbers of /proc. False: the thread does not exist. */
bool kthread_read_ids(int32_t number, struct kthread *t);
/* All but the status; pid -1 if the thread does not exist. */
struct kthread kthread_read(int32_t tid);
void kthread_set_comm(struct kthread *t, const char *comm);     /* what fits */
/* Calls fn for each thread that there is. */
void kthread_each(void (*fn)(void *arg, int32_t tid), void *arg);

/* ---- thread_table.c ---- */

struct kthreads;

/* What knows the threads without a record. */
enum kthreads_source { KTHREADS_NOTHING, KTHREADS_PROC, KTHREADS_LIST };

/* NULL: no memory. If memory runs out later, the information is lost. */
struct kthreads *kthreads_create(enum kthreads_source source);
void kthreads_destroy(struct kthreads *k);      /* NULL is allowed */

/* Asks for all threads. 0, or as tasks_read: those without a record stay unknown. */
int kthreads_scan(struct kthreads *k, struct tr_err *err);

/*
 * A status is read in three steps, because a thread may change meanwhile. The first returns the
 * threads that lack these parts now and can be read, at most max of them. Then the caller reads
 * them, and passes all records until after that to the table. The last step takes what was read if
 * no record says that the thread changed since the first one.
 */
struct kthread_question {
	int32_t tid, number;            /* number: in /proc */
	uint32_t need;                  /* the parts to read */
	uint64_t version;
	struct kstatus is;              /* the caller sets it */
};
size_t kthreads_lacking(struct kthreads *k, uint32_t need, struct kthread_question *out,
			size_t max);
/*
 * The first step for one thread, if `time` is in its last state. KSTATUS_PRIO is asked for again in
 * each turn, at least 1.
 */
bool kthreads_lacks(struct kthreads *k, uint64_t time, int32_t tid, uint32_t need, uint32_t turn,
		    struct kthread_question *out);
void kthreads_learn(struct kthreads *k, const struct kthread_question *q, uint32_t turn);

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
/*
 * The thread began such a call; it returned from one; it runs a new program in place of the thread
 * `before`, which is itself or another thread of its process.
 */
void kthreads_called(struct kthreads *k, int32_t tid, const struct kstatus_call *call);
void kthreads_returned(struct kthreads *k, uint64_t time, int32_t tid, bool success);
void kthreads_executed(struct kthreads *k, uint64_t time, int32_t tid, int32_t before);
/* Records since then may have been lost. */
void kthreads_missed(struct kthreads *k, uint64_t since);

/*
 * Thread 0, of which each CPU has one, has process 0 and no name. No record says which process
 * becomes the parent when one ends: /proc is asked; of a process that has ended by then, the parent
 * remains the one that ended.
 */
void kthreads_at(struct kthreads *k, uint64_t time, int32_t tid, struct kthread *out);

#endif
