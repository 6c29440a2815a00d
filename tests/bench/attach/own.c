/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracepoint of a host of plug-ins, which is wanted, too: the host attaches when it starts. */
void own(int i);

#if defined(TRAIL_HITS)
#include <trail/trail.h>
void own(int i)
{
	TRAIL(bench, one, i);
}
#elif defined(LTTNG_HITS)
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/bench/lttng_provider.h"
void own(int i)
{
	lttng_ust_tracepoint(bench, one, i);
}
#else
void own(int i)
{
	(void)i;
}
#endif
