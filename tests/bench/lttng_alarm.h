/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The events of trigger_lttng.c. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench_trigger

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/bench/lttng_alarm.h"

#if !defined(LTTNG_ALARM_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LTTNG_ALARM_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(bench_trigger, alarm, LTTNG_UST_TP_ARGS(uint64_t, number),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, number, number)))
LTTNG_UST_TRACEPOINT_EVENT(bench_trigger, beat, LTTNG_UST_TP_ARGS(int, i),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, i, i)))

#endif

#include <lttng/tracepoint-event.h>
