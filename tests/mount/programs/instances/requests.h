/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instances of one class: with its types, with other names for them, and with other types. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER requests
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "requests.h"
#if !defined(REQUESTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define REQUESTS_H

#include <lttng/tracepoint.h>

#ifndef REQUESTS_TYPES
#define REQUESTS_TYPES
struct Request {
	struct Private {
		long other;
		int id;
	};
	int id;
};
#endif

LTTNG_UST_TRACEPOINT_EVENT_CLASS(
	requests, request, LTTNG_UST_TP_ARGS(Request *, req),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, id, req->id)))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(requests, request, requests, begin,
				    LTTNG_UST_TP_ARGS(Request *, req))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(requests, request, requests, wrong,
				    LTTNG_UST_TP_ARGS(Request::Private *, req))
#endif
#include <lttng/tracepoint-event.h>
