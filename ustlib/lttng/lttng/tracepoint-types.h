/* SPDX-License-Identifier: MIT */
/* LTTng-UST has a header of this name, whose contents mean nothing here. */
#error "trailfs: <lttng/tracepoint-types.h>:" \
	"call sites have another layout; include <lttng/tracepoint.h>"
