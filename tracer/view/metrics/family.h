/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Families of metrics: name, type, help, and their samples. Private to metrics/. */
#ifndef TRACER_VIEW_METRICS_FAMILY_H
#define TRACER_VIEW_METRICS_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metadata/buf.h"

struct session;

enum metric {
	METRIC_SESSIONS,
	METRIC_ACTIVE_SESSIONS,
	METRIC_APPLICATIONS,
	METRIC_CPU,
	METRIC_FROZEN,
	METRIC_ACTIVE,
	METRIC_STARTED,
	METRIC_BUFFERS,
	METRIC_MEMORY,
	METRIC_HELD,
	METRIC_REFUSED,
	METRIC_LOST_BUFFERS,
	METRIC_RECORDED,
	METRIC_DISCARDED,
	METRIC_OVERWRITTEN,
	METRIC_MAP_RULE,
	METRIC_MAP_EVENTS,
	METRIC_MAP_LOST,
	METRIC_MAP_MISSING,
	METRIC_MAP_LEFT_OUT,
	METRIC_MAP_UNPAIRED,
	METRIC_MAP_KEY,
	METRIC_MAP_VALUE,
	METRIC_MAP_HISTOGRAM,
	METRICS
};

/* The samples of one family follow each other, so each has a buffer until all are known. */
struct metrics {
	bool plain;             /* the older format: see metrics.h */
	struct md_buf samples[METRICS];
};

/*
 * Appends a label to labels, which are separated by commas. The value may have any bytes. Two
 * values that differ stay different: a byte that is not UTF-8, NUL, and a backslash before an x
 * become \xNN.
 */
void label_put(struct md_buf *labels, const char *name, const char *value, size_t len);
void label_puts(struct md_buf *labels, const char *name, const char *value);
void label_number(struct md_buf *labels, const char *name, uint64_t n);

/* One sample. suffix: after the name of the family; "_total" of a counter adds itself. */
void metric_count(struct metrics *m, enum metric of, const struct md_buf *labels, uint64_t n);
void metric_real(struct metrics *m, enum metric of, const char *suffix,
		 const struct md_buf *labels, double v);
void metric_bucket(struct metrics *m, enum metric of, const struct md_buf *labels, double le,
		   uint64_t n);
/* The sample of a number of whole units, with a suffix. */
void metric_part(struct metrics *m, enum metric of, const char *suffix,
		 const struct md_buf *labels, uint64_t n);
/*
 * Of a time in ns; since the epoch, if the suffix is "_created": since when the metric counts. The
 * older format has no such samples.
 */
void metric_time(struct metrics *m, enum metric of, const char *suffix,
		 const struct md_buf *labels, uint64_t ns);

/* Appends all families that have samples, and the line that ends them; frees m. 0 or -ENOMEM. */
int metrics_finish(struct metrics *m, struct md_buf *out);

/* values.c: of all maps of the session. 0 or -ENOMEM. Takes the locks of maps. */
int maps_metrics(struct session *s, struct metrics *m);

#endif
