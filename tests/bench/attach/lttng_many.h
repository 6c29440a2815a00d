/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events of hits.c, as LTTng-UST wants them written down: one class, its instances in the
 * generated instances.h.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER attach

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng_many.h"

#if !defined(LTTNG_MANY_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LTTNG_MANY_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT_CLASS(attach, many, LTTNG_UST_TP_ARGS(int, i),
				 LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, i, i)))
#include "instances.h"

#endif

#include <lttng/tracepoint-event.h>
