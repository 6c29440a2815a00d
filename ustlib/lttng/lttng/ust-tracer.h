/* SPDX-License-Identifier: MIT */
/* Names of the libraries. Events are packed: nothing in a ring is aligned. */
#ifndef TRAIL_LTTNG_UST_TRACER_H
#define TRAIL_LTTNG_UST_TRACER_H

#define lttng_ust_rb_alignof(type) 1
#define LTTNG_UST_LIB_SONAME "liblttng-ust.so.1"
#define LTTNG_UST_TRACEPOINT_LIB_SONAME "liblttng-ust-tracepoint.so.1"
#define LTTNG_UST_CTL_LIB_SONAME "liblttng-ust-ctl.so.5"

#endif
