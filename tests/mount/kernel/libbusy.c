/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none dl */
/*
 * For LD_PRELOAD, in the daemon: while the file $BUSY exists, no file of tracefs can be written
 * whose path ends with $BUSY_FILES, such as `_events`, which define dynamic events. Each attempt
 * adds a byte to the file.
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

static bool is_busy_file(int fd)
{
	const char *end = getenv("BUSY_FILES");
	char link[64], path[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	return end && n >= (ssize_t)strlen(end) &&
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
	if (!file || !is_busy_file(fd))
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
