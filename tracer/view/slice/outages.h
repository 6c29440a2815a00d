/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When streams had losses. An outage of a stream is the time from its last event before a loss to
 * its first event after it. A begin and an end are no pair, because each may belong to an event
 * that is lost, if in between
 *  - the stream of one of them had an outage, or
 *  - an outage of another stream of its class began or ended: the thread may have been there.
 * An outage of another CPU that lasts longer than a slice says nothing: else no CPU would have
 * slices while another one has no room. A thread that goes there and returns meanwhile is not
 * noticed, and so such a pair is not sure.
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
	struct outage *first;   /* of the streams of the class: itself, or another one */
	uint32_t count;         /* of `first`: how many of them have one now */
	uint64_t changed;       /* of `first`: the moment of the last change of them all */
};

struct outages {
	struct outage *all;     /* owned */
	uint64_t now;           /* the moment: how many outages have begun, and how many ended */
};

/* Where an event is: it is in this stream, and has this moment. All zero: it is not known. */
struct outage_place {
	const struct outage *of;
	uint64_t moment;
};

/* The outages of the CPU's stream of the class, the same ones at each call. NULL: no memory. */
struct outage *outages_of(struct outages *o, const struct md_stream *class, uint32_t cpu);
/* Called after the last event before the outage is taken; more calls change nothing. */
void outages_begin(struct outages *o, struct outage *of);
/* Called before the first event after the outage is taken. */
void outages_end(struct outages *o, struct outage *of);
/* A reader begins at the first event. What outages_of returned stays valid. */
void outages_reset(struct outages *o);
void outages_deinit(struct outages *o);

static inline bool outage_since(const struct outage *of, uint64_t moment)
{
	return of && (of->open || of->first->changed > moment);
}

/* Whether a stream of the class has losses now. */
static inline bool outage_near(const struct outage *of)
{
	return of && of->first->count;
}

/* Whether events at these places, of which `end` is now, are no pair. */
static inline bool outage_between(const struct outage_place *begin, const struct outage *end)
{
	return outage_since(begin->of, begin->moment) || outage_since(end, begin->moment);
}

#endif
