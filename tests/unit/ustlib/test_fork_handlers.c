/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail dl pthread */
/*
 * A program whose handlers of fork(2) load and unload a library with tracepoints. They run while
 * the library holds its registration lock for the fork: those before the fork after the library's
 * own, the others before it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/test.h"

#include <trail/trail.h>

static char plugin[PATH_MAX];
static int loads;
static pid_t child;

static void load(void)
{
	void *library, *symbol;
	void (*hit)(int);

	if (!plugin[0])
		return;
	library = dlopen(plugin, RTLD_NOW);
	symbol = library ? dlsym(library, "plugin_hit") : NULL;
	if (!symbol)
		return;
	memcpy(&hit, &symbol, sizeof(hit));
	hit(loads);
	dlclose(library);
	loads++;
}

static void register_handlers(void)
{
	pthread_atfork(load, load, load);
}

/* Before the constructors of all libraries, with which libtrail's own handlers come. */
__attribute__((section(".preinit_array"),
	       used)) static void (*const first)(void) = register_handlers;

/* A deadlock is in a place where all signals are blocked. */
static void *watch(void *arg)
{
	sleep(300);
	printf("not ok - a handler of fork does not return\n");
	if (child > 0)
		kill(child, SIGKILL);
	_exit(1);
	return arg;
}

static void handlers_load_libraries(void)
{
	int status = -1;

	TRAIL(fork_handlers, before, TRAIL_FIELD(n, 1));
	child = fork();
	if (child == 0) {
		TRAIL(fork_handlers, child, TRAIL_FIELD(n, 1));
		load();
		_exit(loads == 3 ? 0 : 1);
	}
	CHECK(child > 0);
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(status == 0);
	CHECK(loads == 2);
	/* The lock is free again. */
	load();
	CHECK(loads == 3);
	TRAIL(fork_handlers, after, TRAIL_FIELD(n, 1));
}

int main(void)
{
	pthread_t watcher;
	ssize_t n = readlink("/proc/self/exe", plugin, sizeof(plugin) - 32);

	if (n <= 0)
		return 3;
	plugin[n] = 0;
	strcpy(strrchr(plugin, '/') + 1, "libfork_plugin.so");
	setenv("TRAIL_RUNTIME_DIR", "/nonexistent", 1);
	if (pthread_create(&watcher, NULL, watch, NULL))
		return 3;
	CASE(handlers_load_libraries);
	return test_summary();
}
