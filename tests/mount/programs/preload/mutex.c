/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mutex one: locks, tries and unlocks by every outcome; prints the events that must come of it.
 * mutex many THREADS N: N turns with one mutex in each thread.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long count, turns;

static void *turn(void *arg)
{
	(void)arg;
	for (long i = 0; i < count; i++) {
		pthread_mutex_lock(&mutex);
		turns++;
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static int one(void)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t checked;
	unsigned long m = (unsigned long)&checked;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&checked, &attr);
	errno = 77;
	if (pthread_mutex_lock(&checked) || pthread_mutex_lock(&checked) != EDEADLK ||
	    pthread_mutex_trylock(&checked) != EBUSY || pthread_mutex_unlock(&checked) ||
	    pthread_mutex_unlock(&checked) != EPERM || pthread_mutex_trylock(&checked) ||
	    errno != 77)
		return 2;
	printf("lock_req { mutex = 0x%lX }\nlock_acq { mutex = 0x%lX, status = 0 }\n", m, m);
	printf("lock_req { mutex = 0x%lX }\nlock_acq { mutex = 0x%lX, status = %d }\n", m, m,
	       EDEADLK);
	printf("trylock { mutex = 0x%lX, status = %d }\nunlock { mutex = 0x%lX, status = 0 }\n", m,
	       EBUSY, m);
	printf("unlock { mutex = 0x%lX, status = %d }\ntrylock { mutex = 0x%lX, status = 0 }\n", m,
	       EPERM, m);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t ids[64];
	int n;

	if (argc > 1 && !strcmp(argv[1], "one"))
		return one();
	if (argc < 4)
		return 1;
	n = atoi(argv[2]);
	/* The first hit asks the daemon; what others hit meanwhile would be lost. */
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	count = atol(argv[3]);
	for (int i = 0; i < n && i < 64; i++)
		if (pthread_create(&ids[i], NULL, turn, NULL))
			return 3;
	for (int i = 0; i < n && i < 64; i++)
		pthread_join(ids[i], NULL);
	return turns == n * count ? 0 : 4;
}
