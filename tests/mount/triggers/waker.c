/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail */
/*
 * waker COUNT MICROSECONDS [LATE]: that many events wake:hit and as many wake:other, and prints how
 * often the library woke another process: the library calls the syscall() below. LATE: the program
 * clears the bell and wakes the daemon this many microseconds after the event, as a thread does
 * that the kernel interrupts between both.
 */
#include <errno.h>
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

static long call_kernel(long number, const long a[6])
{
#ifdef __x86_64__
	register long r10 __asm__("r10") = a[3], r8 __asm__("r8") = a[4], r9 __asm__("r9") = a[5];
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number, x0 __asm__("x0") = a[0], x1 __asm__("x1") = a[1],
		      x2 __asm__("x2") = a[2], x3 __asm__("x3") = a[3], x4 __asm__("x4") = a[4],
		      x5 __asm__("x5") = a[5];

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#else
	(void)number, (void)a;
	return -ENOSYS;
#endif
}

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
	long a[6], ret;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_futex && (int)a[1] == FUTEX_WAKE) {
		__atomic_fetch_add(&wakes, 1, __ATOMIC_RELAXED);
		if (late)
			delay_bell((uint32_t *)a[0]);
	}
	ret = call_kernel(number, a);
	if (ret >= 0 || ret < -4095)
		return ret;
	errno = (int)-ret;
	return -1;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 1, pause = argc > 2 ? atol(argv[2]) : 0;

#if !defined(__x86_64__) && !defined(__aarch64__)
	return 77;
#endif
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
