/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints its memory map, and its process id. Arguments, done in turn:
 *
 *	FILE		loads it, and prints the map again
 *	-		unloads the last one
 *	fork		a child does nothing and ends
 *	wait		until standard input ends
 *	hit		hits the event
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "tick.h"

static void print_map(void)
{
	char line[4096];
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof(line), f))
		fputs(line, stdout);
	if (f)
		fclose(f);
	fflush(stdout);
}

static void *handle;

static int act(const char *what)
{
	char byte;
	pid_t child;

	if (strcmp(what, "-") == 0)
		return dlclose(handle);
	if (strcmp(what, "hit") == 0) {
		lttng_ust_tracepoint(compat_tick, tick, 1);
		return 0;
	}
	if (strcmp(what, "wait") == 0) {
		while (read(0, &byte, 1) > 0)
			;
		return 0;
	}
	if (strcmp(what, "fork") == 0) {
		child = fork();
		if (child == 0)
			_exit(0);
		return child < 0 || waitpid(child, NULL, 0) < 0;
	}
	handle = dlopen(what, RTLD_NOW);
	if (handle)
		print_map();
	else
		puts(dlerror());
	return !handle;
}

int main(int argc, char **argv)
{
	print_map();
	for (int i = 1; i < argc; i++)
		if (act(argv[i]))
			return 1;
	return 0;
}
