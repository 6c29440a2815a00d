/* SPDX-License-Identifier: GPL-2.0-or-later */
/* many: 512 tracepoints, many:e000 to many:e777 (octal). Each is hit once, with its number. */
#include <trail/trail.h>

#define ONE(a, b, c) TRAIL(many, e##a##b##c, TRAIL_FIELD(number, 64 * a + 8 * b + c));
#define EIGHT(a, b) \
	ONE(a, b, 0) ONE(a, b, 1) ONE(a, b, 2) ONE(a, b, 3) \
	ONE(a, b, 4) ONE(a, b, 5) ONE(a, b, 6) ONE(a, b, 7)
#define PART(a) \
	static __attribute__((noinline)) void part##a(void) \
	{ \
		EIGHT(a, 0) EIGHT(a, 1) EIGHT(a, 2) EIGHT(a, 3) \
		EIGHT(a, 4) EIGHT(a, 5) EIGHT(a, 6) EIGHT(a, 7) \
	}

PART(0)
PART(1)
PART(2)
PART(3)
PART(4)
PART(5)
PART(6)
PART(7)

int main(void)
{
	part0();
	part1();
	part2();
	part3();
	part4();
	part5();
	part6();
	part7();
	return 0;
}
