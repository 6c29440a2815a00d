/* SPDX-License-Identifier: MIT */
/* LTTng-UST has a header of this name, whose contents mean nothing here. */
#error "trailfs: <lttng/ust-ringbuffer-context.h>:" \
	"probes write no ring buffer of this kind here. Include <lttng/tracepoint.h> and " \
	"<lttng/tracepoint-event.h>, or write events with <trail/event.h>"
