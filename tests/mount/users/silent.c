/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * silent COUNT: connects COUNT times to the socket in $TRAIL_RUNTIME_DIR and sends nothing. Prints
 * `ready`, and ends when its input ends. Exit status 77: that many descriptors cannot be had.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const char *dir = getenv("TRAIL_RUNTIME_DIR");
	int count = argc > 1 ? atoi(argv[1]) : 0;
	struct rlimit files;

	if (!count || !dir)
		return 2;
	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_max < (rlim_t)count + 100)
		return 77;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%.90s/socket", dir);
	for (int i = 0; i < count; i++) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

		if (fd < 0)
			return errno == EMFILE || errno == ENFILE ? 77 : 1;
		if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
			perror("connect");
			return 1;
		}
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
