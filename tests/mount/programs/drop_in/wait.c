/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits until a running program's event is on, hits it, and waits until it is off. Its provider is
 * in the program. Arguments: "fork": in a child, made while the event is off; "close": with all
 * descriptors closed.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "tick.h"

static int run(int v)
{
	while (!lttng_ust_tracepoint_enabled(compat_tick, tick))
		usleep(1000);
	lttng_ust_tracepoint(compat_tick, tick, v);
	while (lttng_ust_tracepoint_enabled(compat_tick, tick))
		usleep(1000);
	return 0;
}

int main(int argc, char **argv)
{
	int status;
	pid_t child;

	if (argc > 1 && strcmp(argv[1], "close") == 0)
		for (int fd = 0; fd < 1024; fd++)
			close(fd);
	if (argc < 2 || strcmp(argv[1], "fork") != 0)
		return run(argc);
	child = fork();
	if (child == 0)
		_exit(run(3));
	return child < 0 || waitpid(child, &status, 0) < 0 || status;
}
