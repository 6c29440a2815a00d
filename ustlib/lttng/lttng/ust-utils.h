/* SPDX-License-Identifier: MIT */
/* Small macros, by the names of LTTng-UST. */
#ifndef TRAIL_LTTNG_UST_UTILS_H
#define TRAIL_LTTNG_UST_UTILS_H

#include "ust-compiler.h"

#define lttng_ust_stringify_(x) #x
#define lttng_ust_stringify(x) lttng_ust_stringify_(x)
/* Of integers and enumerations */
#define lttng_ust_is_signed_type(type) ((type)-1 < (type)1)

#endif
