/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <unistd.h>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "tick.h"
