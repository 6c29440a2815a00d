/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When streams had losses. An outage of a stream is the time from its last event before a loss to
 * its first event after it. Two events are no pair if the stream of one of them had an outage in
 * between: each may belong to an event that is lost.
 *
 * A reader of several streams in the order of time says when an outage begins and when it ends
 * (view/merge_losses.h). No lock: all of it belongs to its caller.
 */
#ifndef TRACER_VIEW_SLICE_OUTAGES_H
#define TRACER_VIEW_SLICE_OUTAGES_H

#include <stdbool.h>
#include <stdint.h>

struct md_stream;

struct outage {                 /* those of a stream */
	struct outage *next;
	const struct md_stream *class;
	uint32_t cpu;
	bool open;              /* it has one now */
	uint64_t ended;         /* the moment when the last one ended; 0: none has ended */
};

struct outages {
	struct outage *all;     /* owned */
	uint64_t now;           /* the moment: how many outages have ended */
};

/* Where an event is: it is in this stream, and has this moment. All zero: it is not known. */
struct outage_place {
	const struct outage *of;
	uint64_t moment;
};

/* Those of the CPU's stream of the class, the same ones at each call. NULL: no memory. */
struct outage *outages_of(struct outages *o, const struct md_stream *class, uint32_t cpu);
void outages_begin(struct outage *of);
/* Called before the first event after the outage is taken. */
void outages_end(struct outages *o, struct outage *of);
/* A reader begins at the first event. What outages_of returned stays valid. */
void outages_reset(struct outages *o);
void outages_deinit(struct outages *o);

/* Whether an outage of its stream was between the place and now. */
static inline bool outage_since(const struct outage *of, uint64_t moment)
{
	return of && (of->open || of->ended > moment);
}

/* Whether events at these places, of which `end` is now, are no pair. */
static inline bool outage_between(const struct outage_place *begin, const struct outage *end)
{
	return outage_since(begin->of, begin->moment) || outage_since(end, begin->moment);
}

#endif
