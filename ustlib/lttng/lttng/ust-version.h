/* SPDX-License-Identifier: MIT */
/* The version of LTTng-UST whose programming interface this is. */
#ifndef TRAIL_LTTNG_UST_VERSION_H
#define TRAIL_LTTNG_UST_VERSION_H

#define LTTNG_UST_MAJOR_VERSION 2
#define LTTNG_UST_MINOR_VERSION 13
#define LTTNG_UST_PATCHLEVEL_VERSION 0
#define LTTNG_UST_VERSION "2.13.0"

#endif
