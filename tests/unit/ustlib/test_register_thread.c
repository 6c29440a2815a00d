/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail-static */
/*
 * The registration of a thread's restartable sequences by the library, and a signal whose handler
 * records an event just before its system call: the handler registers the thread, the system call
 * fails, and the thread is registered. This program contains thread.c, and calls a hook before each
 * system call.
 */
#define _GNU_SOURCE
#include "tests/lib/test.h"

#include "ustlib/lib.h"

#ifdef HAVE_SECTIONS
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void interrupt(void);

#define syscall(...) (interrupt(), syscall(__VA_ARGS__))
#include "ustlib/base/thread.c"
#undef syscall

static int interruptions;               /* of the next system calls */
static bool handler_registered;

static void interrupt(void)
{
	if (interruptions) {
		interruptions--;
		handler_registered = thread_rseq();
	}
}

static uint32_t cpu_id(void)
{
	return __atomic_load_n(&rseq_real()->cpu_id, __ATOMIC_RELAXED);
}

static void *in_thread(void *registered)
{
	CHECK(cpu_id() == (uint32_t)-1);
	*(bool *)registered = thread_rseq();
	CHECK(cpu_id() < 1 << 20);
	CHECK(thread_rseq());           /* again, without a system call */
	return NULL;
}

static bool thread_registers(void)
{
	bool registered = false;
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, in_thread, &registered));
	pthread_join(thread, NULL);
	return registered;
}

static void interrupted_registration(void)
{
	thread_init();
	if (by_libc || !rseq_usable)
		SKIP("the library cannot register threads here");
	CHECK(thread_registers());
	interruptions = 1;
	CHECK(thread_registers());
	CHECK(!interruptions && handler_registered);
}

int main(int argc, char **argv)
{
	(void)argc;
	/* The C library must leave it to us. */
	if (!getenv("TEST_AGAIN")) {
		setenv("TEST_AGAIN", "1", 1);
		setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0", 1);
		execv("/proc/self/exe", argv);
	}
	CASE(interrupted_registration);
	return test_summary();
}
#else
static void interrupted_registration(void)
{
	SKIP("there are no sections for this processor");
}

int main(void)
{
	CASE(interrupted_registration);
	return test_summary();
}
#endif
