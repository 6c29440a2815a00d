/* SPDX-License-Identifier: MIT */
/* LTTng-UST has a header of this name, whose contents mean nothing here. */
#error "trailfs: <lttng/ust-events.h>:" \
	"events have no descriptions of this kind here. Include <lttng/tracepoint.h> and " \
	"<lttng/tracepoint-event.h>, or write events with <trail/event.h>"
