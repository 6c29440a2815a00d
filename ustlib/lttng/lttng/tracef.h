/* SPDX-License-Identifier: MIT */
/*
 * lttng/tracef.h - lttng_ust_tracef(3): the event lttng_ust_tracef:event { msg }. Nothing is
 * evaluated while it is off.
 */
#ifndef TRAIL_LTTNG_TRACEF_H
#define TRAIL_LTTNG_TRACEF_H

#pragma GCC system_header

#include "tracepoint.h"
#include <trail/log.h>

#define lttng_ust_tracef(...) \
	do { \
		if (TRAIL__LOG_IS_ON(TRAIL__LOG_TRACEF)) \
			trail__tracef(__VA_ARGS__); \
	} while (0)
#define lttng_ust_vtracef(format, args) \
	do { \
		if (TRAIL__LOG_IS_ON(TRAIL__LOG_TRACEF)) \
			trail__vtracef(format, args); \
	} while (0)

#if LTTNG_UST_COMPAT_API(0)
#define tracef lttng_ust_tracef
#define vtracef lttng_ust_vtracef
#endif

#endif
