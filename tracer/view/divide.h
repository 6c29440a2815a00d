/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Divides the events that a merge has before it by time, so that two threads can read them. */
#ifndef TRACER_VIEW_DIVIDE_H
#define TRACER_VIEW_DIVIDE_H

#include <pthread.h>

#include "tracer/view/merge.h"

struct division {
	uint64_t from;  /* time: about half of the bytes are of events before it */
	/* of a merge that has all events from then on, and some before; owned by the caller */
	struct merge_place *places;
	size_t count;
};

/*
 * Divides the events up to the marks of the cursors. False: they have fewer bytes than `least`, or
 * only reading them says where those of a time are; or no memory.
 *
 * What it finds is a guess as good as the rings' side entries, which their writers may have forged.
 * inputs: also imported streams, where it is as good as the headers of their packets; the caller
 * must check that the two parts meet.
 */
bool merge_divide(const struct merge *m, uint64_t least, bool inputs, struct division *d);

/* Whether the kernel allows this thread more than one CPU. */
bool have_two_cpus(void);
/*
 * Creates a thread on another CPU than this one: both begin to work at once, and the kernel leaves
 * two busy threads on one CPU for milliseconds, although another is idle in between. False: the
 * kernel allows only this CPU, or no memory.
 */
bool create_beside(pthread_t *id, void *(*run)(void *arg), void *arg);

#endif
