/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail */
/*
 * slow_attach MILLISECONDS EVENTS: attaches as slowly as a process that is not scheduled: each message of the library to the
 * daemon is that late. Then EVENTS events slow:hit { n }.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <trail/trail.h>

static long late_ms;

/* The library's calls come here instead of libc's function. */
ssize_t send(int fd, const void *buf, size_t size, int flags)
{
	struct timespec pause = { late_ms / 1000, late_ms % 1000 * 1000000 };

	nanosleep(&pause, NULL);
	return syscall(SYS_sendto, fd, buf, size, flags, NULL, 0);
}

int main(int argc, char **argv)
{
	char c;

	if (argc != 3)
		return 2;
	/* The session is started now. */
	if (write(1, "x", 1) != 1 || read(0, &c, 1) != 1)
		return 2;
	late_ms = atol(argv[1]);
	for (int n = 0; n < atoi(argv[2]); n++)
		TRAIL(slow, hit, n);
	return 0;
}
