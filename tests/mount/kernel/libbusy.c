/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none dl */
/*
 * For LD_PRELOAD, in the daemon: while the file $BUSY exists, tracefs takes no definition of a
 * dynamic event. Each attempt adds a byte to the file.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether the descriptor is kprobe_events, uprobe_events or dynamic_events. */
static bool defines_events(int fd)
{
	static const char end[] = "_events";
	char link[64], path[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	return n >= (ssize_t)strlen(end) &&
	       !memcmp(path + n - strlen(end), end, strlen(end));
}

ssize_t write(int fd, const void *bytes, size_t n)
{
	static ssize_t (*real)(int, const void *, size_t);
	const char *file = getenv("BUSY");
	int busy;

	if (!real) {
		void *symbol = dlsym(RTLD_NEXT, "write");

		memcpy(&real, &symbol, sizeof(real));
	}
	if (!file || !defines_events(fd))
		return real(fd, bytes, n);
	busy = open(file, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (busy < 0)
		return real(fd, bytes, n);
	if (real(busy, ".", 1) != 1)
		abort();
	close(busy);
	errno = EBUSY;
	return -1;
}
