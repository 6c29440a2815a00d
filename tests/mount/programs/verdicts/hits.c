// SPDX-License-Identifier: GPL-2.0-or-later
/* Hits each event of provider.h with each sample: `n` says with which. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "provider.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct sample samples[] = {
	{ 0, 0, 0, "\0\0\0", { 0, 0, 0, 0 }, 0 },
	{ 1, 1, 1, "a\0\0", { 1, 2, 3, 4 }, 1 },
	{ -1, 255, -1.5, "abc", { -1, 0, 200, 7 }, 2 },
	{ 127, 128, 3.25, "ab\0", { 100, 1, 1, -1 }, 4 },
	{ -128, 65535, 20, "a*c", { 255, 256, 7, 8 }, 3 },
	{ 100, 200, .5, "bc\0", { 2147483647, -2147483647, 3, 3 }, 1 },
	{ 32768, 4294967295, 1e10, "*c\0", { 8, 8, 8, 8 }, 0 },
	{ INT64_MIN, INT64_MAX, -8.8, "bcc", { 3, 2, 1, 0 }, 4 },
	{ INT64_MAX, 1ull << 40, 7, "xab", { 127, 128, 255, 256 }, 2 },
};

int main(void)
{
	unsigned int n;

	for (n = 0; n < COUNT(samples); n++) {
		const struct sample *v = &samples[n];
#define HIT(name) lttng_ust_tracepoint(verdict, name, n, v);
#include "hits.h"
#undef HIT
	}
	return 0;
}
