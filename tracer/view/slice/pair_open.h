/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events that wait for the other event of their pair, found by what both have. Memory is constant:
 * when more wait, the oldest is dropped. No lock: a table belongs to its caller.
 */
#ifndef TRACER_VIEW_SLICE_PAIR_OPEN_H
#define TRACER_VIEW_SLICE_PAIR_OPEN_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/view/slice/outages.h"

#define PAIR_WAITING 65536u
#define PAIR_NONE UINT32_MAX

struct pair_open {              /* an event that waits for its end */
	const void *trace;      /* not NULL; NULL: free */
	uint64_t a, b, ts;
	struct outage_place at;
	uint32_t pair;
	uint32_t next, prev;    /* in its list; PAIR_NONE: none */
};

struct pair_waiting {
	struct pair_open all[PAIR_WAITING];
	uint32_t heads[PAIR_WAITING];   /* of the lists in `all`, by hash */
	uint32_t next_open;     /* the oldest entry: the next one to be used */
};

struct pair_end {
	uint64_t ns;            /* since its begin */
	bool interrupted;       /* losses keep both apart: they are no pair (outages.h) */
	uint32_t place;         /* of the begin in `all`: its own while it waits */
};

void pair_open_init(struct pair_waiting *p);    /* of a table that is all zeros */
/*
 * Takes an event of a pair: a begin waits, an end finds the newest begin with its key (trace, a, b,
 * pair) and the time between them. nest: several begins with one key may wait, as of functions of a
 * program; else a begin replaces the one that waits, whose end is lost. True: a pair ends.
 * end->place is set then, and by a begin.
 */
bool pair_open_take(struct pair_waiting *p, const struct pair_open *key, bool begins, bool nest,
		    struct pair_end *end);

#endif
