/* SPDX-License-Identifier: MIT */
/*
 * A program with tracepoints: cc hello.c -o hello -ltrail, or by CMakeLists.txt. hello N: N times.
 *
 *	mkdir /trace/sessions/hello && cd /trace/sessions/hello
 *	echo 'hello:*' > user/events && echo start > control
 *	hello 3 && cat text
 */
#include <stdio.h>
#include <stdlib.h>
#include <trail/trail.h>

static double work(int n)
{
	double sum = 0;

	for (int i = 1; i <= n; i++)
		sum += 1.0 / i;
	return sum;
}

int main(int argc, char **argv)
{
	const char *name = argv[0];
	int count = argc > 1 ? atoi(argv[1]) : 3;

	TRAIL_LEVEL(INFO, hello, begin, name, count);
	for (int i = 0; i < count; i++) {
		double sum = work(1000 * i);

		TRAIL(hello, step, i, sum, TRAIL_HEX(bits, i * 16 + 1));
	}
	if (count < 1)
		TRAIL_LEVEL(ERR, hello, nothing, count);
	TRAIL_LEVEL(INFO, hello, end);
	puts("done");
	return 0;
}
