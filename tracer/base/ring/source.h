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
	/* Some of what is lost may have been lost before the source's filters decided. */
	bool undecided;
};

struct ring_source {
	struct region *region;
	uint32_t ring;
	bool overwrites;                /* the ring's mode */
	const bool *unfiltered;         /* atomic; the source may lose what filters would reject */
	struct source_counts counts;    /* before the source is drained */
};

/*
 * Before the source is drained. continues: an earlier daemon, which may have been killed, was the
 * last to drain; what it had read and not stored is counted as discarded. That may be one record
 * too many: a daemon stores a record before it notes that.
 */
void source_begin(const struct ring_source *s, bool continues);
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
