/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `stats` and `top` show, as one read has collected it. Private to view/. */
#ifndef TRACER_VIEW_STATS_H
#define TRACER_VIEW_STATS_H

#include "tracer/base/ring/reader.h"
#include "tracer/view/frames.h"
#include "tracer/view/pair.h"

struct stats {
	struct tally tally;
	struct pairs *pairs;    /* NULL: `top` */
	struct frames *frames;  /* NULL: no event has a callstack, or `top` */
	uint64_t begin, end;    /* the span, as times of the session's clock */
	uint64_t offset;        /* ns from the epoch to the zero of that clock */
	bool partial;           /* events are held that are later than the last look */
	uint64_t missed;        /* sub-buffers and files that left the session meanwhile */
	struct ring_counts counts;      /* of the whole session; `stats` only */
};

/* 0 or -ENOMEM */
int stats_print(const struct stats *st, bool json, struct md_buf *out);

#endif
