/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ids of a thread in its PID namespace, its users and groups, priority and namespaces. /proc
 * has them as they are when it is read. Births and system calls say how they follow from the ones
 * before: the functions below derive them. What cannot be derived becomes unknown.
 *
 * No locks: the caller has one.
 */
#ifndef TRACER_KERNEL_TASK_THREAD_STATUS_H
#define TRACER_KERNEL_TASK_THREAD_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/abi/context_kind.h"

enum { KSTATUS_NS = 8 };        /* namespaces: from TRAIL_CONTEXT_CGROUP_NS on */

/* Parts of a status. KSTATUS_NAMESPACE << i: namespace i. */
enum {
	KSTATUS_IDS = 1,                /* vpid, vtid, real user and group */
	KSTATUS_PRIO = 2,               /* prio, nice: no record says when they change */
	KSTATUS_PARENT = 4,
	KSTATUS_SAVED = 8,              /* effective and saved users and groups */
	KSTATUS_NAMESPACE = 16,
};

struct kstatus {
	uint32_t have;                  /* parts; a single id that is unknown is -1 */
	int32_t vpid, vtid, vppid, prio, nice;
	uint32_t ids[6];                /* from TRAIL_CONTEXT_UID on */
	uint32_t ns[KSTATUS_NS];
	/* CLONE_NEWPID, CLONE_NEWTIME: its children begin in another such namespace. */
	uint32_t later;
	/*
	 * It is in another user namespace than the daemon, or may be: users and groups that it
	 * passes to system calls are not the numbers that the daemon has for them.
	 */
	bool mapped;
};

/* A system call that changes a status */
enum kstatus_call_kind {
	KSTATUS_USERS, KSTATUS_GROUPS, KSTATUS_UNSHARE, KSTATUS_SETNS, KSTATUS_EXEC
};
struct kstatus_call {
	enum kstatus_call_kind kind;
	uint8_t count;                  /* setuid(2): 1, setreuid(2): 2, setresuid(2): 3 */
	uint32_t values[3];     /* users or groups; or the flags of unshare(2) or setns(2) */
};

/*
 * Which parts of a status the value of a context needs; 0: it is none of these contexts. Sets of
 * parts can be joined.
 */
uint32_t kstatus_need(uint32_t kind);
/* Which of these parts are not completely known. */
uint32_t kstatus_missing(const struct kstatus *is, uint32_t need);
/*
 * Reads parts from /proc; the others, and all if the thread has ended, are left out of out->have.
 * number: the thread's in /proc; at most 0: none.
 */
void kstatus_read(int32_t number, uint32_t need, struct kstatus *out);
/* Takes what was read. */
void kstatus_merge(struct kstatus *is, const struct kstatus *now);
/*
 * Turns `is`, the status of the thread `maker`, into the status of the new thread `tid`. flags: the
 * flags of clone(2).
 */
void kstatus_inherit(struct kstatus *is, int32_t tid, int32_t maker, uint64_t flags);
/* The thread made such a call with success. KSTATUS_EXEC: it runs another program now. */
void kstatus_called(struct kstatus *is, const struct kstatus_call *call);
/* False: it is unknown; then *value is what a trace has: -1, or the least integer, or 0. */
bool kstatus_value(const struct kstatus *is, uint32_t kind, int64_t *value);

#endif
