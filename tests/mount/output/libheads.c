/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none dl */
/*
 * For LD_PRELOAD, in the daemon: writes of the head of a session's checkpoint (the beginning of its
 * file `output` in the state directory) fail with EIO. The file $HEADS_FAIL has which, counted from
 * when it appeared: "2" the second, "0" all.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <unistd.h>

static int count;

static int to_fail(void)
{
	const char *path = getenv("HEADS_FAIL");
	FILE *f = path ? fopen(path, "re") : NULL;
	int which = -1;

	if (!f || fscanf(f, "%d", &which) != 1)
		which = -1;
	if (f)
		fclose(f);
	return which;
}

static int is_head(int fd, off_t at)
{
	char link[40], path[4096];
	ssize_t n;

	if (at)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 7)
		return 0;
	path[n] = 0;
	return !strcmp(path + n - 7, "/output") && strstr(path, "/sessions/");
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
	ssize_t (*real)(int, const void *, size_t, off_t);
	void *symbol = dlsym(RTLD_NEXT, "pwrite");

	memcpy(&real, &symbol, sizeof(real));
	if (is_head(fd, at)) {
		int which = to_fail();

		count = which < 0 ? 0 : count + 1;
		if (!which || count == which) {
			errno = EIO;
			return -1;
		}
	}
	return real(fd, data, size, at);
}
