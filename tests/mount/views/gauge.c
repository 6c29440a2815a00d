/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail */
/*
 * gauge NUMBER…: a line on standard output, waits for a line of standard input, then an event
 * gauge:read for each number, as a double and as a float.
 */
#include <stdio.h>
#include <stdlib.h>

#include <trail/trail.h>

int main(int argc, char **argv)
{
	puts("open");
	fflush(stdout);
	getchar();
	for (int i = 1; i < argc; i++) {
		double number = strtod(argv[i], NULL);
		float small = (float)number;

		TRAIL(gauge, read, i, number, small);
	}
	return 0;
}
