/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many events streams have, by name and by process. The memory that it takes depends on the
 * number of event classes and is bounded for processes, however many events there are.
 *
 * Contexts and fields are read only where all fields before them have a fixed size. No lock: a
 * tally belongs to its caller.
 */
#ifndef TRACER_VIEW_TALLY_H
#define TRACER_VIEW_TALLY_H

#include <endian.h>
#include <string.h>

#include "metadata/decode.h"
#include "tracer/base/ring/stream.h"
#include "tracer/face/tracer.h"

#define TALLY_PROCESSES 4096u   /* more processes are counted together */
#define TALLY_NO_PROCESS UINT32_MAX

/* An integer or a text of fixed size; size 0: there is none. */
struct place { uint32_t at, size; bool is_signed; };

/* The field with this name. at: bytes from the first field. */
struct place place_of(const struct md_field *fields, uint32_t count, const char *name);
int64_t place_load(const uint8_t *fields, struct place at);     /* of any size */
/* The integer at this place. */
static inline int64_t place_number(const uint8_t *fields, struct place at)
{
	uint32_t v;

	if (at.size != 4)
		return place_load(fields, at);
	memcpy(&v, fields + at.at, 4);
	return at.is_signed ? (int32_t)le32toh(v) : (int64_t)le32toh(v);
}

struct process {
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
	struct place pid, tid, name;    /* in the contexts */
	uint32_t process;       /* of the last event, in tally.processes; or TALLY_NO_PROCESS */
	bool varies;                    /* the contexts have the process of each event */
	bool constant;                  /* all events are of that process */
	uint64_t count, first, last;    /* events, and the times of two of them */
};

struct tally {
	struct tally_stream *streams;
	size_t count;
	struct process *processes;      /* [0] has those that have no room */
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
void tally_new_process(struct tally *t, struct tally_stream *s, const uint8_t *contexts);

/* Whether the event is of the process of the event before it. */
static inline bool tally_same_process(const struct tally *t, const struct tally_stream *s,
				      const uint8_t *contexts)
{
	const struct process *p = &t->processes[s->process];

	/* Without a number, the name alone is compared below. */
	if (s->pid.size && place_number(contexts, s->pid) != p->pid)
		return false;
	if (!s->pid.size && s->tid.size && place_number(contexts, s->tid) != p->tid)
		return false;
	return !s->name.size || !strncmp((const char *)contexts + s->name.at, p->name,
					 s->name.size);
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
			  !tally_same_process(t, s, o->context)))
		tally_new_process(t, s, o->context);
	if (s->varies)
		t->processes[s->process].events++;
	return e;
}

#endif
