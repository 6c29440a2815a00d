/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail pthread */
/*
 * burst THREADS COUNT [STEP…]: threads that hit burst:hit { thread, n } COUNT times each, all at
 * once, as soon as the steps before have been taken. A step is `fork` (the child does the rest) or
 * a path: it says that it came there by making PATH.here, and continues when PATH exists.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <trail/trail.h>

static pthread_barrier_t together;
static long count;

static void *hit(void *arg)
{
	int thread = (int)(intptr_t)arg;

	pthread_barrier_wait(&together);
	for (long n = 0; n < count; n++)
		TRAIL(burst, hit, thread, n);
	return NULL;
}

static void wait_for(const char *path)
{
	char here[300];
	int fd;

	snprintf(here, sizeof(here), "%s.here", path);
	fd = open(here, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	if (fd >= 0)
		close(fd);
	while (access(path, F_OK))
		usleep(1000);
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[1]) : 0, status = 0;
	pthread_t ids[256];

	if (threads < 1 || threads > 256)
		return 2;
	count = atol(argv[2]);
	for (int i = 3; i < argc; i++) {
		pid_t pid = strcmp(argv[i], "fork") ? 0 : fork();

		if (pid < 0)
			return 2;
		if (pid > 0)
			return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 2;
		if (strcmp(argv[i], "fork"))
			wait_for(argv[i]);
	}
	pthread_barrier_init(&together, NULL, (unsigned int)threads);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, hit, (void *)(intptr_t)i))
			return 2;
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	return 0;
}
