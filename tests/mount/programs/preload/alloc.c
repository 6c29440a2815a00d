/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * alloc one: each function once, by sizes that no other call uses; prints the events that must
 * come of it. alloc many THREADS N [fork]: N allocations of 70001 bytes and frees in each thread,
 * and in a child forked by it. alloc time N: nanoseconds of a malloc and a free.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *volatile keep;     /* the compiler may not leave an allocation out */

/* Lines are kept until all is over: printing allocates. */
static char lines[64][200];
static int line_count;

static __attribute__((format(printf, 1, 2))) void event(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(lines[line_count++], sizeof(lines[0]), format, ap);
	va_end(ap);
}

static void release(void *p)
{
	event("free { ptr = 0x%lX }", (unsigned long)p);
	free(p);
}

static int one(void)
{
	volatile size_t huge = SIZE_MAX / 2 - 70009;
	/*
	 * Through a pointer: a compiler that knows the function gives it a variable of its own,
	 * which a failed call does not set.
	 */
	int (*volatile aligned)(void **, size_t, size_t) = posix_memalign;
	unsigned long old;
	void *p;
	int result;

	p = keep = malloc(70001);
	event("malloc { size = 70001, ptr = 0x%lX }", (unsigned long)p);
	old = (unsigned long)p;
	p = keep = realloc(p, 70002);
	event("realloc { in_ptr = 0x%lX, size = 70002, ptr = 0x%lX }", old, (unsigned long)p);
	release(p);
	p = keep = calloc(70003, 3);
	event("calloc { nmemb = 70003, size = 3, ptr = 0x%lX }", (unsigned long)p);
	if (*(char *)p)
		return 2;
	release(p);
	p = keep = memalign(256, 70004);
	event("memalign { alignment = 256, size = 70004, ptr = 0x%lX }", (unsigned long)p);
	if ((uintptr_t)p % 256)
		return 3;
	release(p);
	result = posix_memalign(&p, 512, 70005);
	event("posix_memalign { out_ptr = 0x%lX, alignment = 512, size = 70005, result = %d }",
	      (unsigned long)p, result);
	if ((uintptr_t)p % 512)
		return 4;
	errno = 77;
	release(p);
	if (errno != 77)
		return 5;
	p = NULL;
	result = aligned(&p, 3, 70006);
	event("posix_memalign { out_ptr = 0x0, alignment = 3, size = 70006, result = %d }", EINVAL);
	if (result != EINVAL || errno != 77)
		return 6;
	errno = 0;
	keep = malloc(huge);
	event("malloc { size = %zu, ptr = 0x0 }", huge);
	if (keep || errno != ENOMEM)
		return 7;
	for (int i = 0; i < line_count; i++)
		puts(lines[i]);
	return 0;
}

static long count;
static int forks;

static void *many(void *arg)
{
	pid_t child = -1;

	(void)arg;
	for (long i = 0; i < count; i++) {
		if (forks && i == count / 2)
			child = fork();
		void *volatile p = malloc(70001);

		free(p);
		p = calloc(1, 70002);
		free(p);
	}
	if (child == 0)
		_exit(0);
	if (child > 0)
		waitpid(child, NULL, 0);
	return NULL;
}

static int many_threads(int n)
{
	pthread_t ids[64];

	for (int i = 0; i < n && i < 64; i++)
		if (pthread_create(&ids[i], NULL, many, NULL))
			return 8;
	for (int i = 0; i < n && i < 64; i++)
		pthread_join(ids[i], NULL);
	return 0;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static int measure(long n)
{
	double best = 1e30;

	for (int round = 0; round < 9; round++) {
		double begin = now(), took;

		for (long i = 0; i < n; i++) {
			keep = malloc(40);
			free(keep);
		}
		took = (now() - begin) / (double)n;
		if (took < best)
			best = took;
	}
	printf("%.2f\n", best);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "one"))
		return one();
	if (argc > 2 && !strcmp(argv[1], "time"))
		return measure(atol(argv[2]));
	if (argc < 4)
		return 1;
	count = atol(argv[3]);
	forks = argc > 4;
	return many_threads(atoi(argv[2]));
}
