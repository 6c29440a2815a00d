/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What tracks know about an event class by its names: whether it is a part of a pair
 * (view/pair_rule.h), switches or wakes up threads, or has counters, and where the fields are that
 * say so; and the counters. Private to track.c.
 */
#ifndef TRACER_EXPORT_EVENT_KIND_H
#define TRACER_EXPORT_EVENT_KIND_H

#include "tracer/format/export/track.h"
#include "tracer/view/pair_rule.h"

#define KIND_COUNTERS 16        /* further numbers of an event are not counters */

enum kind_is {
	KIND_OTHER, KIND_SWITCH, KIND_PROCESS, KIND_WAKEUP, KIND_REQUEST, KIND_FREQUENCY, KIND_RSS
};

/* Indices of fields, by kind; -1: the event has no such field. */
enum { PREV_COMM, NEXT_COMM, PREV_TID, NEXT_TID, PREV_PRIO, NEXT_PRIO, PREV_STATE };
enum { STATE_NAME, STATE_TID, STATE_PID };
enum { WAKEUP_TID };
enum { REQUEST_DEV, REQUEST_SECTOR };
enum { FREQUENCY_CPU };
enum { RSS_MM, RSS_MEMBER, RSS_CURRENT };

/* The row's state. The characters of the names follow it. */
struct event_kind {
	enum kind_is is;
	enum pair_side { PAIR_SIDE_NONE, PAIR_BEGIN, PAIR_END } side;
	bool of_cpu;            /* the pair is of the CPU, not of the thread */
	bool is_call;           /* the pair is a system call */
	bool leaves_calls;      /* its thread is in no earlier call any more */
	uint64_t pair;          /* hash of the pair's name */
	struct track_name name, slice;
	int tid, pid, procname; /* indices of contexts; -1: absent */
	int fields[8];
	uint8_t counters[KIND_COUNTERS];        /* indices of fields */
	uint32_t counter_count;
	bool plain_counter;     /* a counter has the event's name alone */
};

/* Freed with free(). NULL: no memory. */
struct event_kind *event_kind_create(const struct row *r, uint32_t number);

struct counters;                /* counters by name and owner */

struct counters *counters_create(void);         /* NULL: no memory */
void counters_destroy(struct counters *all);    /* NULL is allowed */
/*
 * The counter of field i of the event. NULL: its owner is not known, there are too many, or no
 * memory is left.
 */
struct track_counter *counters_find(struct counters *all, const struct mark *k,
				    const struct event_kind *kind, uint32_t i);

#endif
