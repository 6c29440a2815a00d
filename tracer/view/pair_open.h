/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events that wait for the other event of their pair, found by what both have. Memory is constant:
 * when more wait, the oldest is dropped. No lock: a table belongs to its caller.
 */
#ifndef TRACER_VIEW_PAIR_OPEN_H
#define TRACER_VIEW_PAIR_OPEN_H

#include <stdbool.h>
#include <stdint.h>

#define PAIR_WAITING 65536u
#define PAIR_NONE UINT32_MAX

struct pair_open {              /* an event that waits for its end */
	const void *trace;      /* not NULL; NULL: free */
	uint64_t a, b, ts;
	uint32_t pair;
	uint32_t next, prev;    /* in its list; PAIR_NONE: none */
};

struct pair_waiting {
	struct pair_open all[PAIR_WAITING];
	uint32_t heads[PAIR_WAITING];   /* of the lists in `all`, by hash */
	uint32_t next_open;     /* the oldest entry: the next one to be used */
};

void pair_open_init(struct pair_waiting *p);    /* of a table that is all zeros */
/* The newest entry with this key (trace, a, b, pair); PAIR_NONE: there is none. */
uint32_t pair_open_find(const struct pair_waiting *p, const struct pair_open *key);
void pair_open_add(struct pair_waiting *p, const struct pair_open *key);
/* The entry keeps its values until the next pair_open_add. */
void pair_open_drop(struct pair_waiting *p, uint32_t i);

#endif
