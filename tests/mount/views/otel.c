/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail */
/*
 * otel: events with ids of OpenTelemetry, as text and as numbers, in fields and in contexts of the
 * application: `otel:trace_id`, `otel:span_id` and `otel:service`.
 */
#include <stdint.h>
#include <stdio.h>

#include <trail/trail.h>

static const char *active_trace = "", *active_span = "";

static void get_text(void *arg, struct trail_value *v)
{
	v->type = TRAIL_VALUE_STRING;
	v->s = *(const char *const *)arg;
}

/* A span of the program, another one in it, and a log record in that. */
static void nested(void)
{
	const char *otel_trace_id = "0af7651916cd43dd8448eb211c80319c";
	const char *otel_span_id = "b7ad6b7169203331", *otel_service = "shop";
	int n = 1;

	TRAIL(web, begin, otel_trace_id, otel_span_id, otel_service, n);
	TRAIL(db, begin, n);
	TRAIL(db, note, n);
	TRAIL(db, end, n);
	TRAIL(web, end, n);
}

/* A span whose id is a number */
static void numbered(void)
{
	const char *otel_trace_id = "0AF7651916CD43DD8448EB211C80319D";
	uint64_t otel_span_id = 0x00f067aa0ba902b7;
	int n = 2;

	TRAIL(job, begin, otel_trace_id, otel_span_id, n);
	TRAIL(job, end, n);
}

/* A span with ids which are none: 31 digits, and a letter. */
static void invalid(void)
{
	const char *otel_trace_id = "0af7651916cd43dd8448eb211c80319";
	const char *otel_span_id = "b7ad6b716920333x";
	int n = 2;

	TRAIL(bad, begin, otel_trace_id, otel_span_id, n);
	TRAIL(bad, end, n);
}

static void record(void)
{
	const char *otel_trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
	const char *otel_span_id = "00f067aa0ba902b8";
	int n = 2;

	TRAIL(web, record, otel_trace_id, otel_span_id, n);
}

/* The program is in a span: it is the parent of what begins, and the span of log records. */
static void contexts(void)
{
	int n = 3;

	active_trace = "4bf92f3577b34da6a3ce929d0e0e4737";
	active_span = "00f067aa0ba902b9";
	TRAIL(ctx, record, n);
	TRAIL(ctx, begin, n);
	TRAIL(ctx, end, n);
}

int main(void)
{
	static const char *service = "checkout";

	if (trail_context_register("otel:trace_id", get_text, &active_trace) ||
	    trail_context_register("otel:span_id", get_text, &active_span) ||
	    trail_context_register("otel:service", get_text, &service))
		return 1;
	nested();
	numbered();
	invalid();
	record();
	contexts();
	return 0;
}
