/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hit(i) for program.c, with as many tracepoints as EACH in the generated each.h has: of trailfs
 * (-DTRAIL_HITS), of LTTng (-DLTTNG_HITS), or none.
 */
#if defined(TRAIL_HITS)
#include <trail/trail.h>
#define HIT(n, i) TRAIL(attach, n, i)
#elif defined(LTTNG_HITS)
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_many.h"
#define HIT(n, i) lttng_ust_tracepoint(attach, n, i)
#else
#define HIT(n, i) __asm__ volatile("" : : "r"(i))
#endif
#include "each.h"

#define FUNCTION(n) \
	static __attribute__((noinline)) void hit_##n(int i) \
	{ \
		HIT(n, i); \
	}
#define ENTRY(n) hit_##n,

EACH(FUNCTION)

static void (*const functions[])(int) = { EACH(ENTRY) };

void hit(unsigned int i);

void hit(unsigned int i)
{
	functions[i % (sizeof(functions) / sizeof(functions[0]))]((int)i);
}
