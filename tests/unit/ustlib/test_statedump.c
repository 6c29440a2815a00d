/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail-static pthread */
/*
 * State dumps: who is called, how often, and that neither recursion nor another thread nor a fork
 * loses or repeats one.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "ustlib/statedump.h"

static int first_runs, second_runs, depth, deepest, again;
static bool stop_in_dump;
static uint32_t in_dump, go_on;         /* handshake with the other thread */

static void first(void)
{
	first_runs++;
	depth++;
	if (depth > deepest)
		deepest = depth;
	while (again > 0) {
		again--;
		trail__statedump_run();
	}
	if (stop_in_dump) {
		__atomic_store_n(&in_dump, 1, __ATOMIC_RELEASE);
		while (!__atomic_load_n(&go_on, __ATOMIC_ACQUIRE))
			usleep(1000);
	}
	errno = ENOENT;
	depth--;
}

static void second(void)
{
	second_runs++;
}

static void without_recording(void)
{
	trail__statedump_run();
	CHECK(first_runs == 0);
}

static void registered(void)
{
	trail__on_statedump(first);
	trail__on_statedump(first);
	trail__on_statedump(second);
	errno = 0;
	trail__statedump_run();
	CHECK(first_runs == 1 && second_runs == 1);
	CHECK(errno == 0);
}

/* However often it is asked for meanwhile, it comes once more, and not within itself. */
static void recursion(void)
{
	first_runs = second_runs = deepest = 0;
	again = 3;
	trail__statedump_run();
	CHECK(first_runs == 2 && second_runs == 2);
	CHECK(deepest == 1);
}

static void *run(void *arg)
{
	trail__statedump_run();
	return arg;
}

/*
 * While another thread is at it, no thread waits, and it is done once more; in a forked child it
 * can be begun.
 */
static void threads(void)
{
	pthread_t thread;
	int status = -1;
	pid_t child;

	first_runs = second_runs = 0;
	stop_in_dump = true;
	CHECK(pthread_create(&thread, NULL, run, NULL) == 0);
	while (!__atomic_load_n(&in_dump, __ATOMIC_ACQUIRE))
		usleep(1000);
	trail__statedump_run();
	CHECK(first_runs == 1);
	child = fork();
	if (child == 0) {
		stop_in_dump = false;
		first_runs = 0;
		trail__statedump_run();
		_exit(first_runs == 1 ? 0 : 1);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
	__atomic_store_n(&go_on, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	CHECK(first_runs == 2 && second_runs == 2);
	stop_in_dump = false;
}


static void d1(void) { }
static void d2(void) { }
static void d3(void) { }
static void d4(void) { }
static void d5(void) { }
static void d6(void) { }
static int late_runs;
static void late(void) { late_runs++; }

static void too_many(void)
{
	void (*const all[])(void) = { d1, d2, d3, d4, d5, d6, late };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		trail__on_statedump(all[i]);
	first_runs = 0;
	trail__statedump_run();
	CHECK(first_runs == 1 && late_runs == 0);
}

int main(void)
{
	CASE(without_recording);
	CASE(registered);
	CASE(recursion);
	CASE(threads);
	CASE(too_many);
	return test_summary();
}
