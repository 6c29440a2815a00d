/* SPDX-License-Identifier: MIT */
/* LTTng-UST has a header of this name, whose contents mean nothing here. */
#error "trailfs: <lttng/tp/lttng-ust-tracelog.h>: include <lttng/tracelog.h>"
