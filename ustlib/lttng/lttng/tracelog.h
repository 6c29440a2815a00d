/* SPDX-License-Identifier: MIT */
/*
 * lttng/tracelog.h - lttng_ust_tracelog(3): events lttng_ust_tracelog:LEVEL { line, file, func, msg
 * }, LEVEL as it is spelled in the call. Nothing is evaluated while the event is off.
 */
#ifndef TRAIL_LTTNG_TRACELOG_H
#define TRAIL_LTTNG_TRACELOG_H

#pragma GCC system_header

#include "tracepoint.h"
#include <trail/log.h>

#define lttng_ust_tracelog(level, ...) \
	do { \
		if (TRAIL__LOG_IS_ON(TRAIL__LOG_##level)) \
			trail__tracelog(TRAIL__LOG_##level, __FILE__, __LINE__, __func__, \
				__VA_ARGS__); \
	} while (0)
#define lttng_ust_vtracelog(level, format, args) \
	do { \
		if (TRAIL__LOG_IS_ON(TRAIL__LOG_##level)) \
			trail__vtracelog(TRAIL__LOG_##level, __FILE__, __LINE__, __func__, format, \
				args); \
	} while (0)

#if LTTNG_UST_COMPAT_API(0)
#define tracelog lttng_ust_tracelog
#define vtracelog lttng_ust_vtracelog
#endif

#endif
