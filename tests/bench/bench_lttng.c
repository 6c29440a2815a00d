/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: lttng-ust dl */
/*
 * The same as bench_event.c, with LTTng-UST.
 */
#include "bench.h"

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_provider.h"

static const char sixteen[] = "sixteen bytes ..";

int main(void)
{
	bench_pin();
	BENCH("empty", (void)0);
#ifdef __x86_64__
	BENCH("rdtsc", __builtin_ia32_rdtsc());
#endif
	BENCH("disabled", lttng_ust_tracepoint(bench, off, i));
	BENCH("int", lttng_ust_tracepoint(bench, one, i));
	BENCH("int4", lttng_ust_tracepoint(bench, four, i, i + 1, i + 2, i + 3));
	BENCH("int_string16", lttng_ust_tracepoint(bench, text, i, sixteen));
	return 0;
}
