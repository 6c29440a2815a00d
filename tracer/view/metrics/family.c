// SPDX-License-Identifier: GPL-2.0-or-later
/* Text of OpenMetrics: https://prometheus.io/docs/specs/om/open_metrics_spec/ */
#include "tracer/view/metrics/family.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"

/*
 * A unit is the end of the name. (The types `info` and `stateset` are not here: readers of the
 * older format refuse a whole file that has them.)
 */
static const struct {
	const char *name;
	const char *type, *unit, *help;
} families[METRICS] = {
	[METRIC_SESSIONS] = { "trailfs_sessions", "gauge", NULL, "Sessions of this daemon." },
	[METRIC_ACTIVE_SESSIONS] = { "trailfs_active_sessions", "gauge", NULL,
				     "Sessions that record now." },
	[METRIC_APPLICATIONS] = { "trailfs_applications", "gauge", NULL,
				  "Programs that have registered." },
	[METRIC_CPU] = { "trailfs_cpu_seconds", "counter", "seconds",
			 "CPU time that the daemon has used." },
	[METRIC_FROZEN] = { "trailfs_frozen_bytes", "gauge", "bytes",
			    "Memory that views of all sessions hold." },
	[METRIC_ACTIVE] = { "trailfs_session_active", "gauge", NULL,
			    "1: the session records; 0: it does not." },
	[METRIC_STARTED] = { "trailfs_session_started_timestamp_seconds", "gauge", "seconds",
			     "When the session was started last, in seconds since the epoch." },
	[METRIC_BUFFERS] = { "trailfs_session_buffers", "gauge", NULL,
			     "Ring buffers of the session." },
	[METRIC_MEMORY] = { "trailfs_session_buffer_bytes", "gauge", "bytes",
			    "Memory that the ring buffers of the session take." },
	[METRIC_HELD] = { "trailfs_session_held_bytes", "gauge", "bytes",
			  "Bytes of events that the ring buffers hold." },
	[METRIC_REFUSED] = { "trailfs_session_buffers_refused", "counter", NULL,
			     "Buffers that were not made, because the owner has no room left." },
	[METRIC_LOST_BUFFERS] = { "trailfs_session_buffers_lost", "counter", NULL,
				  "Buffers that an earlier daemon had and this one did not find." },
	[METRIC_RECORDED] = { "trailfs_events_recorded", "counter", NULL,
			      "Events recorded since the first start or the last clear." },
	[METRIC_DISCARDED] = { "trailfs_events_discarded", "counter", NULL,
			       "Events that found no room in the buffers." },
	[METRIC_OVERWRITTEN] = { "trailfs_events_overwritten", "counter", NULL,
				 "Events that newer ones have overwritten." },
	[METRIC_MAP_RULE] = { "trailfs_map_rule_info", "gauge", NULL,
			      "The text of a rule of a map." },
	[METRIC_MAP_EVENTS] = { "trailfs_map_events", "counter", NULL,
				"Events that a rule of a map has aggregated." },
	[METRIC_MAP_LOST] = { "trailfs_map_events_lost", "counter", NULL,
			      "Events of a rule that found no room in the buffers." },
	[METRIC_MAP_MISSING] = { "trailfs_map_events_missing", "counter", NULL,
				 "Events without a field that the rule names." },
	[METRIC_MAP_LEFT_OUT] = { "trailfs_map_events_left_out", "counter", NULL,
				  "Events whose keys found no room in the map." },
	[METRIC_MAP_UNPAIRED] = { "trailfs_map_events_unpaired", "counter", NULL,
				  "Second events of a pair without a first one." },
	[METRIC_MAP_KEY] = { "trailfs_map_key_events", "counter", NULL,
			     "Events of each key of a rule." },
	[METRIC_MAP_VALUE] = { "trailfs_map_value", "gauge", NULL,
			       "What an operator of a rule has computed for a key." },
	[METRIC_MAP_HISTOGRAM] = { "trailfs_map_distribution", "histogram", NULL,
				   "Numbers that an operator of a rule has put into intervals." },
};

/* ---- labels ---- */

static bool is_escape(const char *p, size_t n)
{
	return n > 1 && p[0] == '\\' && p[1] == 'x';
}

void label_put(struct md_buf *labels, const char *name, const char *value, size_t len)
{
	md_buf_printf(labels, "%s%s=\"", labels->len ? "," : "", name);
	while (len) {
		size_t n = md_utf8_char((const unsigned char *)value, len);

		if (!n || !*value || is_escape(value, len)) {
			n = 1;
			md_buf_printf(labels, "\\\\x%02x", (unsigned char)*value);
		} else if (*value == '\n') {
			md_buf_puts(labels, "\\n");
		} else {
			if (*value == '"' || *value == '\\')
				md_buf_putc(labels, '\\');
			md_buf_put(labels, value, n);
		}
		value += n;
		len -= n;
	}
	md_buf_putc(labels, '"');
}

void label_puts(struct md_buf *labels, const char *name, const char *value)
{
	label_put(labels, name, value, strlen(value));
}

void label_number(struct md_buf *labels, const char *name, uint64_t n)
{
	md_buf_printf(labels, "%s%s=\"%" PRIu64 "\"", labels->len ? "," : "", name, n);
}

/* ---- numbers ---- */

/*
 * As the canonical numbers of OpenMetrics, which labels `le` must have: 0.0, 100000.0, 1e+06,
 * 1.048575e+06.
 */
static void put_number(double v, struct md_buf *out)
{
	char text[40];
	int digits = 0, exponent;

	if (isnan(v) || isinf(v)) {
		md_buf_puts(out, isnan(v) ? "NaN" : v > 0 ? "+Inf" : "-Inf");
		return;
	}
	do
		snprintf(text, sizeof(text), "%.*e", digits, v);
	while (strtod(text, NULL) != v && digits++ < 17);
	exponent = atoi(strchr(text, 'e') + 1);
	if (exponent >= -4 && exponent < 6)
		snprintf(text, sizeof(text), "%.*f", digits > exponent ? digits - exponent : 1, v);
	md_buf_puts(out, text);
}

/* ---- samples ---- */

static void put_name(struct metrics *m, enum metric of, const char *suffix,
		     const struct md_buf *labels)
{
	struct md_buf *out = &m->samples[of];

	md_buf_puts(out, families[of].name);
	md_buf_puts(out, suffix);
	if (labels && labels->len) {
		md_buf_putc(out, '{');
		md_buf_put(out, labels->data, labels->len);
		md_buf_putc(out, '}');
	}
	out->failed |= labels && labels->failed;
	md_buf_putc(out, ' ');
}

static bool is_counter(enum metric of)
{
	return !strcmp(families[of].type, "counter");
}

void metric_part(struct metrics *m, enum metric of, const char *suffix,
		 const struct md_buf *labels, uint64_t n)
{
	put_name(m, of, suffix, labels);
	md_buf_printf(&m->samples[of], "%" PRIu64 "\n", n);
}

void metric_count(struct metrics *m, enum metric of, const struct md_buf *labels, uint64_t n)
{
	metric_part(m, of, is_counter(of) ? "_total" : "", labels, n);
}

void metric_real(struct metrics *m, enum metric of, const char *suffix,
		 const struct md_buf *labels, double v)
{
	put_name(m, of, suffix, labels);
	put_number(v, &m->samples[of]);
	md_buf_putc(&m->samples[of], '\n');
}

void metric_bucket(struct metrics *m, enum metric of, const struct md_buf *labels, double le,
		   uint64_t n)
{
	struct md_buf *out = &m->samples[of];

	md_buf_printf(out, "%s_bucket{", families[of].name);
	md_buf_put(out, labels->data, labels->len);
	md_buf_printf(out, "%sle=\"", labels->len ? "," : "");
	put_number(le, out);
	md_buf_printf(out, "\"} %" PRIu64 "\n", n);
	out->failed |= labels->failed;
}

void metric_time(struct metrics *m, enum metric of, const char *suffix,
		 const struct md_buf *labels, uint64_t ns)
{
	if (m->plain && !strcmp(suffix, "_created"))
		return;
	put_name(m, of, suffix, labels);
	md_buf_printf(&m->samples[of], "%" PRIu64 ".%09u\n", ns / 1000000000,
		      (unsigned int)(ns % 1000000000));
}

int metrics_finish(struct metrics *m, struct md_buf *out)
{
	for (size_t i = 0; i < METRICS; i++) {
		struct md_buf *samples = &m->samples[i];
		const char *name = families[i].name;
		const char *total = m->plain && is_counter((enum metric)i) ? "_total" : "";

		out->failed |= samples->failed;
		if (samples->len) {
			md_buf_printf(out, "# TYPE %s%s %s\n", name, total, families[i].type);
			if (families[i].unit && !m->plain)
				md_buf_printf(out, "# UNIT %s %s\n", name, families[i].unit);
			md_buf_printf(out, "# HELP %s%s %s\n", name, total, families[i].help);
			md_buf_put(out, samples->data, samples->len);
		}
		md_buf_deinit(samples);
	}
	if (!m->plain)
		md_buf_puts(out, "# EOF\n");
	return out->failed ? -ENOMEM : 0;
}
