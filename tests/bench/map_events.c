/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail pthread */
/*
 * What a hit costs the program while its values are aggregated: map_events trail | usdt | call
 * [HITS], on CPU 0: of a tracepoint of TRAIL, of a USDT probe at the same place, of the system
 * call getppid. Each has a key of 16 values and a number. Prints `CASE MIN MEDIAN`, ns of thread
 * CPU time of each hit, less that of an empty loop. Short runs, and pauses for who aggregates.
 */
#include "tests/bench/bench.h"

#include <sys/syscall.h>
#include <trail/trail.h>

#define RUN 1000
#define PAUSE_US 1000

/* A probe `bench:hit` with two arguments, as <sys/sdt.h> writes it. */
#define PROBE(key, number) \
	__asm__ volatile("990: nop\n.pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n" \
			 ".4byte 8,994f-993f,3\n.asciz \"stapsdt\"\n" \
			 "993: .8byte 990b, _.stapsdt.base, 0\n" \
			 ".asciz \"bench\"\n.asciz \"hit\"\n.asciz \"-4@%%edi -4@%%esi\"\n" \
			 "994: .balign 4\n.popsection\n.pushsection " \
			 ".stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
			 ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n.ifndef " \
			 "_.stapsdt.base\n_.stapsdt.base: .space 1\n" \
			 ".size _.stapsdt.base,1\n.endif\n.popsection" \
			 : \
			 : "D"(key), "S"(number))

enum hit { TRACEPOINT, USDT, CALL, NOTHING };

static void run(enum hit what)
{
	for (int i = 0; i < RUN; i++) {
		int key = i % 16;

		__asm__ volatile("" : "+r"(i), "+r"(key));
		if (what == TRACEPOINT)
			TRAIL(bench, hit, key, TRAIL_FIELD(number, i));
#ifdef __x86_64__
		else if (what == USDT)
			PROBE(key, i);
#endif
		else if (what == CALL)
			syscall(SYS_getppid);
	}
}

/* Sorted times of the runs, ns of one hit. */
static double *measure(enum hit what, int runs)
{
	double *ns = calloc((size_t)runs, sizeof(*ns)), begin;

	for (int i = -1; ns && i < runs; i++) {
		begin = thread_ns();
		run(what);
		if (i >= 0)
			ns[i] = (thread_ns() - begin) / RUN;
		usleep(what == NOTHING ? 0 : PAUSE_US);
	}
	if (ns)
		qsort(ns, (size_t)runs, sizeof(*ns), compare);
	return ns;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "trail";
	int runs = (argc > 2 ? atoi(argv[2]) : 1000000) / RUN;
	enum hit what = !strcmp(name, "usdt") ? USDT : !strcmp(name, "call") ? CALL : TRACEPOINT;
	double *empty, *ns;

	bench_pin();
	empty = measure(NOTHING, runs);
	ns = measure(what, runs);
	if (!empty || !ns || runs < 1)
		return 1;
	printf("%s %.2f %.2f\n", name, ns[0] - empty[runs / 2], ns[runs / 2] - empty[runs / 2]);
	free(empty);
	free(ns);
	return 0;
}
