/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail */
/*
 * names: hits names:tick, and two tracepoints whose names no rule can have, as a program does that
 * was compiled with headers that did not refuse them. Waits for the end of its standard input
 * before it ends.
 */
#include <stdio.h>

#include <trail/trail.h>

#undef TRAIL__CHECK_NAMES
#define TRAIL__CHECK_NAMES(provider, args)

int main(void)
{
	for (int i = 0; i < 3; i++) {
		TRAIL(names, tick, i);
		TRAIL("hello", quoted, i);
		TRAIL(a::b, colon, i);
	}
	while (getchar() != EOF)
		;
	return 0;
}
