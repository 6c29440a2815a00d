/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * flood UID: as that user, connects to the socket in $TRAIL_RUNTIME_DIR as fast as the daemon
 * accepts, says nothing, and keeps the connections: as many as it may have descriptors for, then it
 * closes the oldest one for each new one. Prints `ready` when it begins to close. It ends when its
 * input ends. Exit status 77: it may not become the user, or has too few descriptors.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define COUNT 9000

static int fds[COUNT];

static void connect_once(const struct sockaddr_un *addr, int *to)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return;
	while (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) < 0)
		if (errno != EAGAIN || poll(&(struct pollfd){ .fd = 0, .events = POLLIN }, 1, 0))
			break;
	*to = fd;
}

int main(int argc, char **argv)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const char *dir = getenv("TRAIL_RUNTIME_DIR");
	struct rlimit files;

	if (argc < 2 || !dir)
		return 2;
	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_max < COUNT + 100)
		return 77;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	if (setgid((gid_t)atoi(argv[1])) || setuid((uid_t)atoi(argv[1])))
		return 77;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%.90s/socket", dir);
	for (unsigned long n = 0; !poll(&(struct pollfd){ .fd = 0, .events = POLLIN }, 1, 0); n++) {
		if (n >= COUNT)
			close(fds[n % COUNT]);
		connect_once(&addr, &fds[n % COUNT]);
		if (n == COUNT) {
			puts("ready");
			fflush(stdout);
		}
	}
	return 0;
}
