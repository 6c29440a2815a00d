/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Divides the events that a merge has before it by time, so that several threads can read them: as
 * many as there are CPUs for, DIVISION_MOST at most.
 */
#ifndef TRACER_VIEW_DIVIDE_H
#define TRACER_VIEW_DIVIDE_H

#include <pthread.h>

#include "tracer/view/merge.h"

#define DIVISION_MOST 8

struct division_part {
	uint64_t from;  /* a time: events of it and later ones, up to the next part's */
	/* of a merge that has all events from then on, and some before; owned */
	struct merge_place *places;
};

struct division {
	size_t count;                   /* parts; 1: not divided */
	struct division_part parts[DIVISION_MOST];      /* the first begins where the merge is */
	size_t streams;                 /* places of each part */
};

/*
 * Divides the events up to the marks of the cursors. A part has about `least` bytes or more. There
 * is only one part if there are too few events or CPUs, if the times of the events are known only
 * by reading them, or if there is no memory.
 *
 * What it finds is a guess as good as the rings' side entries, which their writers may have forged.
 * inputs: also imported streams, where it is as good as the headers of their packets; the caller
 * must check that the parts meet.
 */
void merge_divide(const struct merge *m, uint64_t least, bool inputs, struct division *d);
/* Keeps the first `count` parts, at least one; frees the others' places. */
void division_cut(struct division *d, size_t count);
/* Keeps the parts that begin at the limit or before it. */
void division_before(struct division *d, uint64_t limit);

/*
 * Calls run(arg, i) for i from 0 to count - 1, at most DIVISION_MOST: by this thread for 0, and by
 * threads on other CPUs for the others. Returns when all have returned.
 */
void division_run(size_t count, void (*run)(void *arg, size_t part), void *arg);

/* How many CPUs the kernel allows this thread. */
size_t cpus_allowed(void);
/*
 * Creates a thread on another CPU than this one: both begin to work at once, and the kernel leaves
 * two busy threads on one CPU for milliseconds, although another is idle in between. False: the
 * kernel allows only this CPU, or no memory.
 */
bool create_beside(pthread_t *id, void *(*run)(void *arg), void *arg);

#endif
