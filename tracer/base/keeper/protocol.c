/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/keeper/protocol.h"

enum { FDS_TAKEN = 4 };         /* a valid packet has one; the kernel closes those above */

union control {
	char bytes[CMSG_SPACE(FDS_TAKEN * sizeof(int))];
	struct cmsghdr align;
};

int keeper_send(int sock, const struct keeper_msg *msg, const char *name, int fd)
{
	struct iovec iov[2] = {
		{ .iov_base = (void *)msg, .iov_len = sizeof(*msg) },
		{ .iov_base = (void *)name, .iov_len = name ? strlen(name) : 0 },
	};
	union control control = { .bytes = { 0 } };
	struct msghdr h = { .msg_iov = iov, .msg_iovlen = 2 };
	ssize_t n;

	if (fd >= 0) {
		h.msg_control = control.bytes;
		h.msg_controllen = CMSG_SPACE(sizeof(int));
		CMSG_FIRSTHDR(&h)->cmsg_level = SOL_SOCKET;
		CMSG_FIRSTHDR(&h)->cmsg_type = SCM_RIGHTS;
		CMSG_FIRSTHDR(&h)->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&h)), &fd, sizeof(fd));
	}
	do
		n = sendmsg(sock, &h, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* Keeps the first descriptor in *fd, closes all others; returns their number. */
static int take_fds(struct msghdr *h, int *fd)
{
	int count = 0;
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		size_t n, i;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < n; i++) {
			int got;

			memcpy(&got, CMSG_DATA(c) + i * sizeof(int), sizeof(got));
			if (count++)
				close(got);
			else
				*fd = got;
		}
	}
	return count;
}

int keeper_receive(int sock, struct keeper_packet *p, int *fd)
{
	struct iovec iov = { .iov_base = p, .iov_len = sizeof(*p) };
	union control control;
	struct msghdr h = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.bytes, .msg_controllen = sizeof(control)
	};
	ssize_t n;
	size_t len;
	int count;

	*fd = -1;
	do
		n = recvmsg(sock, &h, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	/* An empty packet looks like the end of the connection, but can carry descriptors. */
	count = take_fds(&h, fd);
	len = (size_t)n - sizeof(p->msg);
	if (!n && !count)
		return -EPIPE;
	/* A full buffer is a name that is too long: the last byte is for the NUL. */
	if ((h.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || count > 1 || (size_t)n < sizeof(p->msg) ||
	    len > KEEPER_NAME_MAX || p->msg.magic != KEEPER_MAGIC || memchr(p->name, '\0', len)) {
		if (*fd >= 0)
			close(*fd);
		*fd = -1;
		return -EBADMSG;
	}
	p->name[len] = '\0';
	return (int)len;
}

socklen_t keeper_address(int dir, const char *state_dir, struct sockaddr_un *to)
{
	int n;

	*to = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(to->sun_path, sizeof(to->sun_path), "%s/" KEEPER_SOCKET, state_dir);
	if (n < 0 || (size_t)n >= sizeof(to->sun_path))
		n = snprintf(to->sun_path, sizeof(to->sun_path), "/proc/self/fd/%d/" KEEPER_SOCKET,
			     dir);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n + 1);
}
