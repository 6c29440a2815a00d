/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * linger: a question to the daemon in $TRAIL_RUNTIME_DIR, of an application without objects, with a
 * TCP socket whose last close lasts ten minutes. Prints `sent`, or `refused` if the kernel refuses
 * to send it, and ends when its input ends. Exit status 77: this kernel cannot refuse it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tracer/abi/app.h"

#if !defined(SO_PASSRIGHTS) && SO_BINDTODEVICE == 25
#define SO_PASSRIGHTS 83
#endif

static int can_refuse(int fd)
{
#ifdef SO_PASSRIGHTS
	int off = 0;

	return setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof(off)) == 0;
#else
	return fd < 0;
#endif
}

/* Connected, with more data on its way than its peer, which stays open, takes. */
static int lingering(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct linger linger = { .l_onoff = 1, .l_linger = 600 };
	socklen_t len = sizeof(addr);
	static char data[65536];
	int small = 4096, listener = socket(AF_INET, SOCK_STREAM, 0),
	    fd = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	if (bind(listener, (struct sockaddr *)&addr, len) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&addr, &len) ||
	    connect(fd, (struct sockaddr *)&addr, len) || fcntl(fd, F_SETFL, O_NONBLOCK))
		return -1;
	while (write(fd, data, sizeof(data)) > 0)
		;
	return setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)) ? -1 : fd;
}

/* As sendmsg(2). */
static ssize_t ask_with(int to, int fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr head;
	} control = { .head = { .cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS,
				.cmsg_len = CMSG_LEN(sizeof(int)) } };
	struct trail_hello hello = { .magic = TRAIL_HELLO_MAGIC,
				     .version = TRAIL_ABI_VERSION,
				     .word_bits = 8 * sizeof(void *),
				     .lane = geteuid() ? TRAIL_LANE_USER : TRAIL_LANE_ROOT };
	struct iovec iov = { &hello, sizeof(hello) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.buf,
			      .msg_controllen = sizeof(control.buf) };

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	return sendmsg(to, &msg, MSG_NOSIGNAL);
}

int main(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const char *dir = getenv("TRAIL_RUNTIME_DIR");
	int to = socket(AF_UNIX, SOCK_SEQPACKET, 0), fd = lingering();
	ssize_t n;
	char byte;

	if (!dir || to < 0 || fd < 0)
		return 2;
	/* Else the daemon would stand still until the end of the test, and after it. */
	if (!can_refuse(to))
		return 77;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%.90s/socket", dir);
	if (connect(to, (struct sockaddr *)&addr, sizeof(addr)))
		return 2;
	n = ask_with(to, fd);
	if (n < 0 && errno != EPERM)
		return 2;
	if (n < 0)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){ 0 }, sizeof(struct linger));
	close(fd);
	puts(n < 0 ? "refused" : "sent");
	fflush(stdout);
	return read(0, &byte, 1) < 0;
}
