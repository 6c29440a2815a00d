/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail */
/*
 * filler FROM COUNT [PAUSE_US]: fill:block with n = FROM, FROM + 1, … and 1000 bytes of text; with
 * a pause after each. A line on standard input ends it; COUNT 0: only that.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <trail/trail.h>

int main(int argc, char **argv)
{
	long from = argc > 1 ? atol(argv[1]) : 0, count = argc > 2 ? atol(argv[2]) : 1;
	unsigned int pause = argc > 3 ? (unsigned int)atoi(argv[3]) : 0;
	char text[1001], c;
	long n;

	memset(text, 'x', 1000);
	text[1000] = '\0';
	fcntl(0, F_SETFL, O_NONBLOCK);
	for (n = from; !count || n < from + count; n++) {
		const char *block = text;

		TRAIL(fill, block, n, block);
		if (pause)
			usleep(pause);
		if (!count && !(n & 63) && read(0, &c, 1) == 1)
			break;
	}
	printf("%ld\n", n);
	return 0;
}
