/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail */
/* The same with one tracepoint. */
#include <trail/trail.h>

int main(int argc, char **argv)
{
	(void)argv;
	TRAIL(bench, one, argc);
	return 0;
}
