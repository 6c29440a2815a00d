/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many events streams have, by name and by process. The memory that it takes depends on the
 * number of event classes and is bounded for processes, however many events there are.
 *
 * No lock: a tally belongs to its caller.
 */
#ifndef TRACER_VIEW_TALLY_H
#define TRACER_VIEW_TALLY_H

#include <string.h>

#include "metadata/access.h"
#include "metadata/decode.h"
#include "tracer/base/ring/stream.h"
#include "tracer/view/views.h"

#define TALLY_PROCESSES 4096u   /* more processes are counted together */
#define TALLY_NO_PROCESS UINT32_MAX

struct process_tally {
	enum domain domain;
	int64_t pid, tid;       /* -1: not known; tid only if pid is not known */
	bool named;
	char name[33];          /* as the application gave it: may have any bytes */
	uint64_t events;
};

struct pair_event;              /* pair.h */

struct tally_event {
	uint64_t count;
	const struct md_event *class;   /* NULL: not seen yet */
	const struct pair_event *pair;  /* NULL: not of a pair */
};

struct tally_stream {
	struct stream stream;           /* its references are the caller's */
	enum domain domain;
	struct tally_event *events;     /* by event id; owned */
	uint32_t size;                  /* of events */
	struct md_route pid, tid, name; /* of contexts; to none: the class does not have it */
	uint32_t name_size;     /* of an array at a constant place; 0: the name is none */
	uint32_t process;       /* of the last event, in tally.processes; or TALLY_NO_PROCESS */
	bool varies;                    /* the contexts have the process of each event */
	bool constant;                  /* all events are of that process */
	uint64_t count, first, last;    /* events, and the times of two of them */
};

struct tally {
	struct tally_stream *streams;
	size_t count;
	struct process_tally *processes;      /* [0] has those that have no room */
	uint32_t process_count;
	uint32_t *slots;                /* hash table of indices in processes; 0: free */
	uint64_t events, first, last;   /* of all streams; set by tally_sum */
};

/* 0 or -ENOMEM; the caller calls tally_deinit in both cases. */
int tally_init(struct tally *t, size_t streams);
void tally_deinit(struct tally *t);
void tally_sum(struct tally *t);
/* Adds a stream: the next index of t->streams. It must live as long as the tally. */
void tally_add(struct tally *t, const struct stream *s);

/* The event's entry, for its first event as well; NULL: no memory. */
struct tally_event *tally_new_event(struct tally_stream *s, const struct md_event *e);
/* Finds or makes the process of an event that is not of s->process. */
void tally_new_process(struct tally *t, struct tally_stream *s, const struct md_occurrence *o);
/* Whether the event has the name of the process, for a name at any place. */
bool tally_same_name(const struct tally_stream *s, const struct md_occurrence *o,
		     const struct process_tally *p);

/* Whether the event is of the process of the event before it. */
static inline bool tally_same_process(const struct tally *t, const struct tally_stream *s,
				      const struct md_occurrence *o)
{
	const struct process_tally *p = &t->processes[s->process];
	/* Without a number, the name alone is compared below. */
	const struct md_route *number = s->pid.type ? &s->pid : &s->tid;
	uint64_t n;

	if (number->type && (!md_access_integer(number, o, &n) ||
			     (int64_t)n != (s->pid.type ? p->pid : p->tid)))
		return false;
	if (s->name_size)
		return !strncmp((const char *)o->context + s->name.at, p->name, s->name_size);
	return !s->name.type || tally_same_name(s, o, p);
}

/* Counts an event, in the order of its stream. NULL: no memory. */
static inline struct tally_event *tally_count(struct tally *t, struct tally_stream *s,
					      const struct md_occurrence *o)
{
	uint32_t id = o->event->id;
	struct tally_event *e = id < s->size ? &s->events[id] : NULL;

	if (__builtin_expect(!e || !e->class, 0) && !(e = tally_new_event(s, o->event)))
		return NULL;
	e->count++;
	if (!s->count++)
		s->first = o->ts;
	s->last = o->ts;
	if (s->varies && (s->process == TALLY_NO_PROCESS || !s->process ||
			  !tally_same_process(t, s, o)))
		tally_new_process(t, s, o);
	if (s->varies)
		t->processes[s->process].events++;
	return e;
}

#endif
