/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pairs of events, and the times from one to the other: entry and exit of a system call, begin and
 * end of what a program names so. An event finds its pair by its name; two events belong together
 * if they have the same thread, the same CPU, or the same fields.
 *
 * Count, total and maximum are exact. Percentiles come from a histogram whose intervals are a 32nd
 * of the time. Memory is bounded: that of PAIRS_MAX histograms, of the events that wait for
 * their ends (pair_open.h), and of PAIRS_PROCESSES sums. No lock: pairs belong to their caller.
 */
#ifndef TRACER_VIEW_PAIR_H
#define TRACER_VIEW_PAIR_H

#include "tracer/view/pair_open.h"
#include "tracer/view/pair_rule.h"
#include "tracer/view/tally.h"

#define PAIRS_MAX 1024u
#define PAIRS_PROCESSES 8192u   /* slots, of which half are used */

struct pair_event {             /* an event class as a part of a pair */
	struct pair_event *next;
	uint32_t pair;          /* index in pairs.all */
	enum pair_by by;
	unsigned int words;     /* as in struct pair */
	bool begins;
	struct md_route a, b;   /* PAIR_FIELDS: to fields; b may lead to none */
};

struct pair_times {             /* ns */
	uint64_t count, total, max;
};

struct pair {
	enum domain domain;
	enum pair_by by;
	unsigned int words;     /* begin and end, or entry and exit */
	char *name;             /* owned */
	uint64_t begun, ended;  /* events; those without the other one included */
	struct pair_times times;
	uint64_t *histogram;    /* NULL: no times; owned */
};

struct pair_process {           /* what one process has of a pair */
	uint32_t pair, process; /* process: index in tally.processes */
	struct pair_times times;        /* count 0: a free slot */
};

struct pairs {
	struct pair all[PAIRS_MAX];
	uint32_t count;
	bool more;              /* events of further pairs were not matched */
	struct pair_event *events;      /* owned */
	struct pair_process processes[PAIRS_PROCESSES];
	uint32_t process_count;
	uint64_t left_out;      /* times that processes had no room for */
	struct pair_waiting open;
};

struct pairs *pairs_create(void);       /* NULL: no memory */
void pairs_destroy(struct pairs *p);    /* NULL is allowed */
/* Whether the stream class has events of pairs. */
bool pairs_have(const struct stream *s);
/* Sets e->pair if the event is a part of a pair. Called once for each e. 0 or -ENOMEM. */
int pairs_add_event(struct pairs *p, const struct tally_stream *s, struct tally_event *e);
/* Takes an event with e->pair, in the order of time. 0 or -ENOMEM. */
int pairs_take(struct pairs *p, const struct tally_stream *s, const struct pair_event *e,
	       const struct md_occurrence *o);

/* A time that `percent` of the times do not exceed: at most a 32nd above the exact one. ns */
uint64_t pair_percentile(const struct pair *p, unsigned int percent);

#endif
