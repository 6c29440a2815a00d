/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fields of LTTng-UST 2.16. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER compat_blob

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./blob.h"

#if !defined(COMPAT_BLOB_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define COMPAT_BLOB_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(compat_blob, blob,
	LTTNG_UST_TP_ARGS(const void *, data, size_t, size),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_fixed_length_blob(begin, data, 2, "image/png")
		lttng_ust_field_variable_length_blob(all, data, uint16_t, size, NULL)
		lttng_ust_field_fixed_length_blob_nowrite(first, data, 1, "text/plain")
		lttng_ust_field_variable_length_blob_nowrite(some, data, uint8_t, size, NULL)
	)
)

#endif

#include <lttng/tracepoint-event.h>
