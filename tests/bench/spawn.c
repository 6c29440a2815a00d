/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * spawn COUNT PROGRAM…: starts each program COUNT times, in turns, and waits for its end. Prints
 * `PROGRAM MIN MEDIAN` in microseconds, from posix_spawn to its end.
 */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double once(char *program)
{
	char *args[] = { program, NULL };
	double begin = now();
	int status;
	pid_t pid;

	if (posix_spawn(&pid, program, NULL, NULL, args, environ) ||
	    waitpid(pid, &status, 0) != pid || status) {
		fprintf(stderr, "spawn: %s failed\n", program);
		exit(1);
	}
	return now() - begin;
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[1]) : 0, programs = argc - 2;
	double *took;

	if (count < 1)
		return 2;
	took = calloc((size_t)(programs * count), sizeof(*took));
	if (!took)
		return 2;
	for (int i = -10; i < count; i++)
		for (int p = 0; p < programs; p++) {
			double t = once(argv[2 + p]);

			if (i >= 0)
				took[p * count + i] = t;
		}
	for (int p = 0; p < programs; p++) {
		char *name = strrchr(argv[2 + p], '/');

		qsort(took + p * count, (size_t)count, sizeof(*took), compare);
		printf("%s %.1f %.1f\n", name ? name + 1 : argv[2 + p], took[p * count],
		       took[p * count + count / 2]);
	}
	free(took);
	return 0;
}
