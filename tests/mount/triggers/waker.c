/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail dl */
/*
 * waker COUNT MICROSECONDS [LATE]: that many events wake:hit and as many wake:other, and prints how
 * often the library woke another process: the library calls the syscall() below. LATE: the program
 * clears the bell and wakes the daemon this many microseconds after the event, as a thread does
 * that the kernel interrupts between both.
 */
#include <dlfcn.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <trail/trail.h>

#include "tracer/abi/ring.h"

static long wakes;
static useconds_t late;

/* The library has cleared the bell: arms it again, and clears it later. */
static void delay_bell(uint32_t *bell)
{
	__atomic_store_n(bell, TRAIL_BELL_ARMED, __ATOMIC_SEQ_CST);
	usleep(late);
	__atomic_store_n(bell, 0, __ATOMIC_SEQ_CST);
}

long syscall(long number, ...)
{
	va_list ap;
	long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	long a[6];

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_futex && (int)a[1] == FUTEX_WAKE) {
		__atomic_fetch_add(&wakes, 1, __ATOMIC_RELAXED);
		if (late)
			delay_bell((uint32_t *)a[0]);
	}
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 1, pause = argc > 2 ? atol(argv[2]) : 0;

	late = argc > 3 ? (useconds_t)atol(argv[3]) : 0;
	for (long i = 0; i < count; i++) {
		TRAIL(wake, hit, i);
		TRAIL(wake, other, i);
		if (pause)
			usleep((useconds_t)pause);
	}
	printf("%ld\n", wakes);
	return 0;
}
