/* SPDX-License-Identifier: GPL-2.0-or-later */
#define TRACEPOINT_CREATE_PROBES
#ifdef COMPAT_DEFINE_HERE
#define TRACEPOINT_DEFINE
#endif
#include "fields.h"
