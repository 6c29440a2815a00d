/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The events of bench_event.c and trivial_trail.c, as LTTng-UST wants them written down. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/bench/lttng_provider.h"

#if !defined(LTTNG_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LTTNG_PROVIDER_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(bench, off, LTTNG_UST_TP_ARGS(int, i),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, i, i)))
LTTNG_UST_TRACEPOINT_EVENT(bench, one, LTTNG_UST_TP_ARGS(int, i),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, i, i)))
LTTNG_UST_TRACEPOINT_EVENT(
	bench, four, LTTNG_UST_TP_ARGS(int, a_, int, b_, int, c_, int, d_),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, a, a_) lttng_ust_field_integer(int, b, b_)
				    lttng_ust_field_integer(int, c, c_)
					    lttng_ust_field_integer(int, d, d_)))
LTTNG_UST_TRACEPOINT_EVENT(bench, text, LTTNG_UST_TP_ARGS(int, i, const char *, s),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, i, i)
						       lttng_ust_field_string(sixteen, s)))
/* Filters are set on these; a channel with contexts has the last. */
LTTNG_UST_TRACEPOINT_EVENT(bench, reject, LTTNG_UST_TP_ARGS(int, i),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, i, i)))
LTTNG_UST_TRACEPOINT_EVENT(bench, accept, LTTNG_UST_TP_ARGS(int, i),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, i, i)))
LTTNG_UST_TRACEPOINT_EVENT(bench, glob, LTTNG_UST_TP_ARGS(int, i, const char *, s),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, i, i)
						       lttng_ust_field_string(sixteen, s)))
LTTNG_UST_TRACEPOINT_EVENT(bench, context, LTTNG_UST_TP_ARGS(int, i),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, i, i)))

#endif

#include <lttng/tracepoint-event.h>
