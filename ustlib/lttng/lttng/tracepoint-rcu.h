/* SPDX-License-Identifier: MIT */
/* LTTng-UST has a header of this name, whose contents mean nothing here. */
#error "trailfs: <lttng/tracepoint-rcu.h>: call sites use no RCU; include <lttng/tracepoint.h>"
