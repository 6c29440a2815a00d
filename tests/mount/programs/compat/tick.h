/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An event whose provider comes and goes. COMPAT_FROM says which provider it is; COMPAT_SLOW: its
 * probe takes its time.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER compat_tick

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./tick.h"

#if !defined(COMPAT_TICK_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define COMPAT_TICK_H

#include <lttng/tracepoint.h>

#ifndef COMPAT_FROM
#define COMPAT_FROM "?"
#endif
#ifdef COMPAT_SLOW
#define COMPAT_VALUE(v) ((v) + usleep(300))
#else
#define COMPAT_VALUE(v) (v)
#endif
#ifdef COMPAT_OTHER
#define COMPAT_TYPE const char *
#else
#define COMPAT_TYPE int
#endif

LTTNG_UST_TRACEPOINT_EVENT(compat_tick, tick,
	LTTNG_UST_TP_ARGS(COMPAT_TYPE, v),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_string(from, COMPAT_FROM)
#ifdef COMPAT_OTHER
		lttng_ust_field_string(v, v)
#else
		lttng_ust_field_integer(int, v, COMPAT_VALUE(v))
#endif
	)
)

#endif

#include <lttng/tracepoint-event.h>
