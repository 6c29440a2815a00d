/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hits at virtual times: simulation [COUNT]. Then it waits for the end of its input. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tick.h"

uint64_t virtual_now = 1000;

static void hit(uint64_t when, int v)
{
	virtual_now = when;
	lttng_ust_tracepoint(compat_tick, tick, v);
}

int main(int argc, char **argv)
{
	hit(5000, 1);
	hit(5001, 2);
	hit(4000, 3);           /* never before the one before */
	hit(70000000, 4);       /* in another epoch of 27 bits */
	hit(UINT64_C(1) << 41, 5);
	for (int i = 0; argc > 1 && i < atoi(argv[1]); i++)
		hit((UINT64_C(1) << 41) + (uint64_t)i, 6);
	while (getchar() != EOF)
		;
	return 0;
}
