/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail pthread */
/*
 * The cost of an event, see bench.h. A session must have all of bench: enabled but bench:off. With
 * an argument: emits that many events of bench:string instead.
 */
#include "bench.h"

#include <trail/trail.h>

static const char sixteen[] = "sixteen bytes ..";

static int seen(int *on)
{
	return ++*on;
}

static int wait_until_on(void)
{
	int on = 0;

	for (int i = 0; i < 5000 && !on; i++) {
		TRAIL(bench, ready, TRAIL_FIELD(on, seen(&on)));
		if (!on)
			usleep(1000);
	}
	if (!on)
		fprintf(stderr, "bench_event: the tracepoints are not on\n");
	return on;
}

static void body(int events)
{
	for (int i = 0; i < events; i++)
		TRAIL(bench, one, i);
}

int main(int argc, char **argv)
{
	if (!wait_until_on())
		return 1;
	if (argc > 1) {
		long n = atol(argv[1]);

		for (long i = 0; i < n; i++)
			TRAIL(bench, string, i, sixteen);
		return 0;
	}
	bench_threads(2, body);
	bench_threads(8, body);
	bench_pin();
	BENCH("empty", (void)0);
#ifdef __x86_64__
	BENCH("rdtsc", __builtin_ia32_rdtsc());
#endif
	BENCH("disabled", TRAIL(bench, off, i));
	BENCH("int", TRAIL(bench, one, i));
	BENCH("int4", TRAIL(bench, four, TRAIL_FIELD(a, i), TRAIL_FIELD(b, i + 1),
			    TRAIL_FIELD(c, i + 2), TRAIL_FIELD(d, i + 3)));
	BENCH("int_string16", TRAIL(bench, text, i, sixteen));
	BENCH("reject", TRAIL(bench, reject, i));
	BENCH("reject_glob", TRAIL(bench, glob, i, sixteen));
	BENCH("accept", TRAIL(bench, accept, i));
	BENCH("contexts", TRAIL(bench, context, i));
	return 0;
}
