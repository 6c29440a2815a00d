/* SPDX-License-Identifier: MIT */
/*
 * Which versions of the API there are: all from LTTNG_UST_COMPAT_API_VERSION on. Version 0 has
 * names without prefix.
 */
#ifndef TRAIL_LTTNG_UST_API_COMPAT_H
#define TRAIL_LTTNG_UST_API_COMPAT_H

#ifndef LTTNG_UST_COMPAT_API_VERSION
#define LTTNG_UST_COMPAT_API_VERSION 0
#endif

#define LTTNG_UST_COMPAT_API(version) ((version) >= LTTNG_UST_COMPAT_API_VERSION)

#endif
