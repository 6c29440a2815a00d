/* SPDX-License-Identifier: MIT */
/* LTTng-UST has a header of this name, whose contents mean nothing here. */
#error "trailfs: <lttng/ust-tracepoint-event-write.h>: include <lttng/tracepoint-event.h>"
