/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rings that the daemon fills from another buffer, the source, as kernel events: counts in the ring
 * what the source lost (the members source_… of struct trail_ring).
 *
 * The caller is the ring's only writer.
 */
#ifndef TRACER_RING_SOURCE_H
#define TRACER_RING_SOURCE_H

#include "tracer/base/ring/ring.h"

/* What the source has counted since it was made or emptied. */
struct source_counts {
	/*
	 * Events that were recorded, then overwritten before they were read; includes those that
	 * source_missed reports.
	 */
	uint64_t overwritten;
	/* Events that were not recorded because it was full, or that were emptied with it. */
	uint64_t discarded;
	/*
	 * Records, events and stacks, that were read. 0 also if the source keeps what a reader has
	 * not released.
	 */
	uint64_t read;
	/* Events that the source recorded, or lost, before its filters could decide. */
	uint64_t undecided;
};

struct ring_source {
	struct region *region;
	uint32_t ring;
	bool overwrites;                /* the ring's mode */
	/* atomic; the source may lose what filters would reject, also where it counts none of it */
	const bool *unfiltered;
	struct source_counts counts;    /* before the source is drained */
	uint64_t lost_before;           /* of source_begin */
};

/*
 * Before the source is drained. continues: an earlier daemon, which may have been killed, was the
 * last to drain; what it had read and not stored is counted as discarded. That may be one record
 * too many: a daemon stores a record before it notes that.
 */
void source_begin(struct ring_source *s, bool continues);
/* The source has not decided about the event that the caller gets now, and has counted it so. */
void source_passed_undecided(const struct ring_source *s);
/* The caller has stored this many more of the records that the source counts as read. */
void source_taken(const struct ring_source *s, uint64_t records);
/*
 * Events were overwritten at this place; 0: their number is unknown. In a ring in overwrite mode
 * they are simply older than its contents. If the ring holds nothing older, the trace begins after
 * them; else they are a gap, and the next packet's events_discarded counts them.
 */
void source_missed(const struct ring_source *s, uint64_t events);
/* After the drain: counts losses that the source does not mention at their place. */
void source_end(const struct ring_source *s);

#endif
