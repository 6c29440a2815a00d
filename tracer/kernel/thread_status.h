/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What only /proc knows of a thread: its ids in the innermost PID namespace, its users and groups,
 * priority and namespaces. No record of tracefs says when they change, so a value is that of the
 * moment when the daemon reads the event. Of a thread that has ended by then it is the last one
 * that was read; if none was, that of the thread that made it.
 *
 * No locks: the caller has one.
 */
#ifndef TRACER_KERNEL_THREAD_STATUS_H
#define TRACER_KERNEL_THREAD_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/abi/context_kind.h"

enum { KSTATUS_NS = 8 };        /* namespaces: from TRAIL_CONTEXT_CGROUP_NS on */

struct kstatus {
	uint32_t have;                  /* parts: see kstatus_need */
	int32_t vpid, vtid, vppid, prio, nice;
	uint32_t ids[6];                /* from TRAIL_CONTEXT_UID on */
	uint32_t ns[KSTATUS_NS];
};

struct kstatuses;

struct kstatuses *kstatuses_create(void);       /* NULL: no memory */
void kstatuses_destroy(struct kstatuses *s);    /* NULL is allowed */
/*
 * Which parts of a status the value of a context needs; 0: it is none of these contexts. Sets of
 * parts can be joined.
 */
uint32_t kstatus_need(uint32_t kind);
/*
 * number: the thread's in /proc; 0: none. turn: a status that was read in this turn is not read
 * again.
 */
const struct kstatus *kstatuses_find(struct kstatuses *s, int32_t tid, int32_t number,
				     uint32_t turn, uint32_t need);
/* The maker made the thread. number, turn, need: as above, of the maker; flags: of clone(2). */
void kstatuses_born(struct kstatuses *s, int32_t tid, int32_t maker, int32_t number, uint32_t turn,
		    uint32_t need, uint64_t flags);
/* False: it is unknown; then *value is what a trace has: -1, or the least integer, or 0. */
bool kstatus_value(const struct kstatus *is, uint32_t kind, int64_t *value);

#endif
