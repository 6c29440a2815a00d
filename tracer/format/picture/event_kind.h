/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What tracks know about an event class by its names: what it has to do with slices
 * (view/slice/slice.h), whether it switches or wakes up threads, or has counters, and where the
 * fields are that say so; and the counters and the processes. Private to track.c.
 */
#ifndef TRACER_PICTURE_EVENT_KIND_H
#define TRACER_PICTURE_EVENT_KIND_H

#include "tracer/format/picture/track.h"

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
	struct slice_class slices;
	enum kind_is is;
	bool told;              /* the form knows the classes, and the names have their number */
	struct track_name name, slice;
	int procname, group;    /* indices of contexts; -1: absent */
	int fields[8];
	uint8_t counters[KIND_COUNTERS];        /* indices of fields */
	uint32_t counter_count;
	bool plain_counter;     /* a counter has the event's name alone */
};

/* Freed with free(). NULL: no memory. */
struct event_kind *event_kind_create(const struct row *r);

/* An event class whose slices have the name of one function. The characters follow it. */
struct function_kind {
	struct function_kind *next;
	const struct event_kind *kind;
	bool told;              /* as of struct event_kind; the caller sets it */
	struct track_name name, slice;
};

struct function_kinds;          /* by class and function */

struct function_kinds *function_kinds_create(void);     /* NULL: no memory */
void function_kinds_destroy(struct function_kinds *all);        /* NULL is allowed */
/* Of the function that begins with this event. NULL: it has no name, or no memory. */
struct function_kind *function_kinds_find(struct function_kinds *all, struct maker *m,
					  const struct row *r, const struct event_kind *kind);

/* Names a track; a thread that has another name is described once more. */
void timeline_set_name(struct timeline *t, const char *name, size_t n);
/* Names a track of hardware that has no name yet. */
void timeline_name(struct timeline *t);
void timeline_name_hardware(struct timeline *t, int32_t pid, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

struct counters;                /* counters by name and owner */

struct counters *counters_create(void);         /* NULL: no memory */
void counters_destroy(struct counters *all);    /* NULL is allowed */
/*
 * The counter of field i of the event. NULL: its owner is not known, there are too many, or no
 * memory is left.
 */
struct track_counter *counters_find(struct counters *all, const struct mark *k,
				    const struct event_kind *kind, uint32_t i);

struct processes;               /* by pid */

struct processes *processes_create(void);       /* NULL: no memory */
void processes_destroy(struct processes *all);  /* NULL is allowed */
/* A new one if there is none. NULL: no memory. */
struct track_process *processes_find(struct processes *all, int32_t pid);
/* A thread of the process has this name; the main thread names the process. */
void process_learn(struct track_process *p, int32_t tid, const char *name, size_t n);
/* The event is of this group of processes: the value of a context. */
void process_join(struct track_process *p, const struct md_value *group);

#endif
