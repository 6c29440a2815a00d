/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail */
/* A library with a tracepoint, for loader.c. */
#include <trail/trail.h>

void plug_hit(int n);

void plug_hit(int n)
{
	TRAIL(plug, hit, n);
}
