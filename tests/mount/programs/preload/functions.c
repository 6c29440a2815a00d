/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For -finstrument-functions: prints `ENTRY|EXIT ADDRESS` of the functions that run in main. */
#include <stdio.h>

#define PLAIN __attribute__((no_instrument_function))
#ifdef __clang__
#define SOME __attribute__((noinline))
#else
#define SOME __attribute__((noinline, noclone))
#endif

static volatile int sink;

SOME static int leaf(int a)
{
	return sink + a;
}

SOME static int middle(int a)
{
	return leaf(a) + leaf(a + 1);
}

PLAIN int main(void)
{
	sink = middle(1);
	printf("entry 0x%lX\n", (unsigned long)middle);
	for (int i = 0; i < 2; i++)
		printf("entry 0x%lX\nexit 0x%lX\n", (unsigned long)leaf, (unsigned long)leaf);
	printf("exit 0x%lX\n", (unsigned long)middle);
	return 0;
}
