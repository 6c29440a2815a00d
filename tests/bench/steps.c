/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * steps [mkdir PATH | rmdir PATH | write PATH TEXT]…: what a program does that works with a tree of
 * files, without a shell that starts others for it. Prints how long it took, in microseconds.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ll + t.tv_nsec / 1000;
}

static int put(const char *path, const char *text)
{
	char line[4096];
	int n = snprintf(line, sizeof(line), "%s\n", text), fd = open(path, O_WRONLY | O_TRUNC),
	    bad;

	if (fd < 0)
		return -1;
	bad = write(fd, line, (size_t)n) != n;
	return close(fd) < 0 || bad ? -1 : 0;
}

int main(int argc, char **argv)
{
	int64_t begin = now();

	for (int i = 1; i + 1 < argc;) {
		const char *what = argv[i], *path = argv[i + 1];
		int err;

		if (!strcmp(what, "write")) {
			err = i + 2 < argc ? put(path, argv[i + 2]) : -1;
			i += 3;
		} else {
			err = strcmp(what, "mkdir") ? rmdir(path) : mkdir(path, 0777);
			i += 2;
		}
		if (err) {
			perror(path);
			return 1;
		}
	}
	printf("%lld\n", (long long)(now() - begin));
	return 0;
}
