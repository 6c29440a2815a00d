/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects that come and go: each argument is done in turn.
 *
 *	+FILE, -FILE	load, unload it
 *	NUMBER		hit the event with it
 *	fork=NUMBER	in a child
 *	call=FILE	the function that FILE has (COMPAT_PLUGIN)
 *	churn=FILE	load and unload it time and again, while threads hit the event: 100 times,
 *			or as many as the variable CHURN says
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_PROBE_DYNAMIC_LINKAGE
#include "tick.h"

#ifdef COMPAT_PLUGIN
void compat_plugin(void);
void compat_plugin(void)
{
	lttng_ust_tracepoint(compat_tick, tick, 1000);
}
#else

static int stop;

static void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, dlerror());
	_exit(1);
}

static void load(const char *file)
{
	if (!dlopen(file, RTLD_NOW))
		die(file);
}

static void unload(const char *file)
{
	void *handle = dlopen(file, RTLD_NOW | RTLD_NOLOAD);

	if (!handle || dlclose(handle) || dlclose(handle))
		die(file);
	if (dlopen(file, RTLD_NOW | RTLD_NOLOAD)) {
		fprintf(stderr, "%s is still there\n", file);
		_exit(1);
	}
}

static void *hit_all_the_time(void *arg)
{
	for (int i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++)
		lttng_ust_tracepoint(compat_tick, tick, i);
	return arg;
}

static void churn(const char *file)
{
	const struct timespec while_it_is_there = { 0, 2000000 };
	const char *times = getenv("CHURN");
	int n = times ? atoi(times) : 100;
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, hit_all_the_time, NULL))
			die("pthread_create");
	for (int i = 0; i < n; i++) {
		load(file);
		if (i % 3)
			nanosleep(&while_it_is_there, NULL);
		unload(file);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

static void fork_and_hit(int v)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		lttng_ust_tracepoint(compat_tick, tick, v);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0 || status)
		die("fork");
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *a = argv[i], *of = strchr(a, '=') ? strchr(a, '=') + 1 : a;

		if (*a == '+') {
			load(a + 1);
		} else if (*a == '-') {
			unload(a + 1);
		} else if (strncmp(a, "churn=", 6) == 0) {
			churn(of);
		} else if (strncmp(a, "fork=", 5) == 0) {
			fork_and_hit(atoi(of));
		} else if (strncmp(a, "call=", 5) == 0) {
			void *plugin = dlopen(of, RTLD_NOW | RTLD_NOLOAD),
			     *f = dlsym(plugin, "compat_plugin");

			if (!f)
				die(of);
			((void (*)(void))f)();
			dlclose(plugin);
		} else {
			lttng_ust_tracepoint(compat_tick, tick, atoi(a));
		}
	}
	return 0;
}
#endif
