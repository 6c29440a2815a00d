/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none dl pthread */
/*
 * For LD_PRELOAD, in the daemon: while the file $PAUSE exists, the thread that has just got an
 * answer by recvmsg(2) removes it, and stops after its next pthread_mutex_unlock(3) until
 * $PAUSE.end exists.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static __thread int armed;

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t (*real)(int, struct msghdr *, int);
	void *symbol = dlsym(RTLD_NEXT, "recvmsg");
	const char *file = getenv("PAUSE");
	ssize_t n;

	memcpy(&real, &symbol, sizeof(real));
	n = real(fd, msg, flags);
	armed = n > 0 && file && !access(file, F_OK);
	return n;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	static int (*real)(pthread_mutex_t *);
	char end[4096];
	int ret;

	if (!real) {
		void *symbol = dlsym(RTLD_NEXT, "pthread_mutex_unlock");

		memcpy(&real, &symbol, sizeof(real));
	}
	ret = real(mutex);
	if (!armed)
		return ret;
	armed = 0;
	snprintf(end, sizeof(end), "%s.end", getenv("PAUSE"));
	unlink(getenv("PAUSE"));
	for (int i = 0; i < 2000 && access(end, F_OK); i++)
		usleep(10000);
	return ret;
}
