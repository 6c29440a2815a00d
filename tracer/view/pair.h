/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pairs of events, and the times from one to the other: slices (slice/slice.h), by their names, and
 * the wakeups of threads, which end with a switch to the thread (pair_open.h).
 *
 * Memory is bounded: that of PAIRS_MAX histograms, of open slices and of wakeups that
 * wait, and of PAIRS_PROCESSES sums. No lock: pairs belong to their caller.
 */
#ifndef TRACER_VIEW_PAIR_H
#define TRACER_VIEW_PAIR_H

#include "tracer/view/function_name.h"
#include "tracer/view/slice/pair_open.h"
#include "tracer/view/slice/slice.h"
#include "tracer/view/slice/times.h"
#include "tracer/view/tally.h"

#define PAIRS_MAX 1024u
#define PAIRS_PROCESSES 8192u   /* slots, of which half are used */

struct pair_event {             /* an event class as a part of a pair */
	struct pair_event *next;
	uint32_t pair;          /* index in pairs.all; PAIR_NONE: it only leaves calls */
	enum pair_by by;
	unsigned int words;     /* as in struct pair */
	bool begins;
	struct slice_class slice;       /* a side: the pair is a slice */
	struct md_route a, b;   /* PAIR_FIELDS, and no slice: to fields; b may lead to none */
};

struct pair {
	enum domain domain;
	enum pair_by by;
	unsigned int words;     /* begin and end, or entry and exit */
	bool of_threads;        /* switches said of which threads the events are */
	char *name;             /* owned */
	uint64_t begun, ended;  /* events; those without the other one included */
	struct slice_times times;
	uint64_t *histogram;    /* slice/times.h; NULL: no times; owned */
};

struct pair_process {           /* what one process has of a pair */
	uint32_t pair, process; /* process: index in tally.processes */
	struct slice_times times;        /* count 0: a free slot */
};

struct pairs {
	struct pair all[PAIRS_MAX];
	uint32_t count;
	bool more;              /* events of further pairs were not matched */
	struct pair_event *events;      /* owned */
	struct pair_process processes[PAIRS_PROCESSES];
	uint32_t process_count;
	uint64_t left_out;      /* times that processes had no room for */
	struct slices slices;
	struct pair_waiting wakeups;
	struct session *session;        /* the caller's */
	struct function_names *functions;    /* NULL: no event is of a function; owned */
	uint32_t *of_function;  /* pairs by the numbers of functions, from 1; owned */
	uint32_t function_count;
	struct stacks *stacks;  /* of the caller, before the first event; or NULL */
	struct stacks *own_stacks;      /* owned */
};

struct pairs *pairs_create(struct session *s);  /* NULL: no memory */
void pairs_destroy(struct pairs *p);    /* NULL is allowed */
/* Whether the stream class has events of pairs. */
bool pairs_have(const struct stream *s);
/* Sets e->pair if the event is a part of a pair. Called once for each e. 0 or -ENOMEM. */
int pairs_add_event(struct pairs *p, const struct tally_stream *s, struct tally_event *e);
/* Takes the cursor's event, of e->pair, in the order of time. 0 or -ENOMEM. */
int pairs_take(struct pairs *p, const struct tally_stream *s, const struct pair_event *e,
	       const struct cursor *c);

#endif
