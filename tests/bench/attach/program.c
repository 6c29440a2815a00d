/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * program before|running|fork|dlopen|load THREADS STAMP [PLUGIN]: each thread hits 100
 * tracepoints, one after the other of those that hit() of hits.c knows. Prints the microseconds
 * until all threads are done, counted
 *
 *	before		from STAMP (CLOCK_MONOTONIC, ns), before the program was started
 *	running		from the byte on its input that says that tracing was started
 *	fork		from before fork(2); the child has the threads
 *	dlopen		from before PLUGIN was loaded, which has hit(), after a hit of own(), if the
 *			program has it
 *	load		the same PLUGIN, from STAMP
 *
 * `running` prints a line `ready` before it waits.
 *
 * program exec PROGRAM MODE THREADS [PLUGIN] runs another one with a STAMP of now.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HITS 100u

extern void own(int i) __attribute__((weak));
extern void hit(unsigned int i) __attribute__((weak));
static void (*do_hit)(unsigned int i) = hit;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void *hit_many(void *first)
{
	for (unsigned int i = 0; i < HITS; i++)
		do_hit((unsigned int)(uintptr_t)first + i);
	return NULL;
}

static void run_threads(unsigned int count)
{
	pthread_t threads[64];

	for (unsigned int i = 1; i < count; i++)
		if (pthread_create(&threads[i], NULL, hit_many, (void *)(uintptr_t)(i * HITS)))
			exit(1);
	hit_many(NULL);
	for (unsigned int i = 1; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void print_since(int64_t begin)
{
	printf("%.1f\n", (double)(now_ns() - begin) / 1e3);
	fflush(stdout);
}

static int run_forked(unsigned int count)
{
	int64_t begin = now_ns();
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return 1;
	if (!pid) {
		run_threads(count);
		print_since(begin);
		return 0;
	}
	return waitpid(pid, &status, 0) != pid || status;
}

static int load(const char *plugin)
{
	void *handle = dlopen(plugin, RTLD_NOW);
	void *symbol = handle ? dlsym(handle, "hit") : NULL;

	if (!symbol)
		return 1;
	memcpy(&do_hit, &symbol, sizeof(do_hit));
	return 0;
}

static int run_other(char **argv)
{
	char stamp[24];
	char *args[] = { argv[2], argv[3], argv[4], stamp, argv[5], NULL };

	snprintf(stamp, sizeof(stamp), "%lld", (long long)now_ns());
	execv(args[0], args);
	return 1;
}

int main(int argc, char **argv)
{
	unsigned int count = argc > 3 ? (unsigned int)atoi(argv[2]) : 0;
	int64_t begin = argc > 3 ? atoll(argv[3]) : 0;

	if (argc > 4 && !strcmp(argv[1], "exec"))
		return run_other(argv);
	if (count < 1 || count > 64)
		return 2;
	if (!strcmp(argv[1], "fork"))
		return run_forked(count);
	if (!strcmp(argv[1], "running")) {
		puts("ready");
		fflush(stdout);
		if (getchar() == EOF)
			return 1;
		begin = now_ns();
	}
	if (own)
		own(0);
	if (!strcmp(argv[1], "dlopen"))
		begin = now_ns();
	if (argc > 4 && load(argv[4]))
		return 1;
	run_threads(count);
	print_since(begin);
	return 0;
}
