/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: lttng-ust dl pthread */
/*
 * The same as bench_event.c, with LTTng-UST.
 */
#include "bench.h"

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_provider.h"

static const char sixteen[] = "sixteen bytes ..";

static void body(int events)
{
	for (int i = 0; i < events; i++)
		lttng_ust_tracepoint(bench, one, i);
}

/*
 * An application of LTTng-UST waits for its session daemon before main(); ours learn it with the
 * first event.
 */
static int wait_until_on(void)
{
#ifdef BENCH_WAIT
	for (int i = 0; i < 5000 && !lttng_ust_tracepoint_enabled(bench, one); i++)
		usleep(1000);
	for (int i = 0; i < 100; i++) {
		lttng_ust_do_tracepoint(bench, one, i);
		usleep(1000);
	}
	return lttng_ust_tracepoint_enabled(bench, one);
#else
	return 1;
#endif
}

int main(void)
{
	if (!wait_until_on())
		return 1;
	bench_threads(2, body);
	bench_threads(8, body);
	bench_pin();
	BENCH("empty", (void)0);
#ifdef __x86_64__
	BENCH("rdtsc", __builtin_ia32_rdtsc());
#endif
	BENCH("disabled", lttng_ust_tracepoint(bench, off, i));
	BENCH("int", lttng_ust_tracepoint(bench, one, i));
	BENCH("int4", lttng_ust_tracepoint(bench, four, i, i + 1, i + 2, i + 3));
	BENCH("int_string16", lttng_ust_tracepoint(bench, text, i, sixteen));
	BENCH("reject", lttng_ust_tracepoint(bench, reject, i));
	BENCH("reject_glob", lttng_ust_tracepoint(bench, glob, i, sixteen));
	BENCH("accept", lttng_ust_tracepoint(bench, accept, i));
	BENCH("contexts", lttng_ust_tracepoint(bench, context, i));
	return 0;
}
