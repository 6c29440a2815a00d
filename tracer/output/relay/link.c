/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/output/relay/link.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tracer/base/os/clock.h"

#define SLICE_MS 100            /* between two questions to quits() */
#define OUT_MANY 16384          /* bytes of commands that are sent early */
#define BEGIN_MS 5000u    /* until a new connection is ready */
#define MS UINT64_C(1000000)

void link_init(struct relay_link *l)
{
	*l = (struct relay_link){ .control = -1, .data = -1, .stall_ms = LINK_STALL_MS };
}

/* Pairs with the loads of other threads, which show it: no other data goes with it. */
static void note_silence(struct relay_link *l, uint64_t since)
{
	__atomic_store_n(&l->silent_since, since, __ATOMIC_RELAXED);
}

void link_close(struct relay_link *l)
{
	if (l->control >= 0)
		close(l->control);
	if (l->data >= 0)
		close(l->data);
	l->control = l->data = -1;
	l->first = l->count = l->in_len = 0;
	note_silence(l, 0);
	l->unacknowledged = false;
	md_buf_deinit(&l->out);
	l->out = (struct md_buf)MD_BUF_INIT;
}

/* The smaller one of a limit, ms, and what `patience` allows. */
static uint64_t shortened(const struct relay_link *l, uint64_t ms)
{
	uint64_t most = l->patience ? l->patience(l->arg) : ms;

	return most < ms ? most : ms;
}

/* ---- connecting ---- */

/* Waits until the connection is made. 0 or -errno. */
static int finish_connect(struct relay_link *l, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	uint64_t since = monotonic_now();
	int err = 0;
	socklen_t len = sizeof(err);

	for (;;) {
		int n = poll(&p, 1, SLICE_MS);

		if (l->quits && l->quits(l->arg))
			return -ECANCELED;
		if (n > 0)
			break;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (monotonic_now() - since >= shortened(l, LINK_CONNECT_MS) * MS)
			return -ETIMEDOUT;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		return -errno;
	return -err;
}

static int connect_one(struct relay_link *l, const struct addrinfo *a)
{
	int one = 1, stall = (int)l->stall_ms, probe = stall / 4000 ? stall / 4000 : 1, err = 0;
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	/* The kernel's probes detect a peer that vanished while the connection is idle. */
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &probe, sizeof(probe));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &probe, sizeof(probe));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &stall, sizeof(stall));
	if (connect(fd, a->ai_addr, a->ai_addrlen) < 0)
		err = errno == EINPROGRESS ? finish_connect(l, fd) : -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int lookup_error(int code)
{
	switch (code) {
	case EAI_SYSTEM:
		return errno ? -errno : -EIO;
	case EAI_MEMORY:
		return -ENOMEM;
	default:
		return -EADDRNOTAVAIL;
	}
}

int link_connect(struct relay_link *l, const struct relay_address *a, bool ipv6)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
	struct addrinfo *list = NULL;
	char port[8];
	int code, fd = -EADDRNOTAVAIL;

	hints.ai_family = ipv6 ? AF_INET6 : AF_INET;
	snprintf(port, sizeof(port), "%u", a->port);
	code = getaddrinfo(a->host, port, &hints, &list);
	if (code)
		return lookup_error(code);
	for (const struct addrinfo *i = list; i && fd < 0 && fd != -ECANCELED; i = i->ai_next)
		fd = connect_one(l, i);
	freeaddrinfo(list);
	l->progress = monotonic_now();
	return fd;
}

/* ---- waiting ---- */

/*
 * Waits for `events` on fd, or until the control connection has bytes, at most a slice. *revents:
 * of fd. 0; -ECONNRESET: the relay has closed a connection.
 */
static int wait_slice(struct relay_link *l, int fd, short events, int ms, short *revents)
{
	struct pollfd p[2] = { { .fd = l->control, .events = POLLIN },
			       { .fd = l->data, .events = POLLIN } };
	int which = fd == l->data && fd != l->control;

	p[which].events |= events;
	*revents = 0;
	if (poll(p, l->data >= 0 ? 2 : 1, ms) < 0)
		return errno == EINTR ? 0 : -errno;
	*revents = p[which].revents;
	/*
	 * The relay sends nothing on the data connection: to be readable means that it was closed.
	 */
	if (l->data >= 0 && (p[1].revents & (POLLIN | POLLHUP | POLLERR)))
		return -ECONNRESET;
	return 0;
}

/* -ETIMEDOUT if the relay has shown no progress for too long. */
static int check_progress(const struct relay_link *l)
{
	uint64_t most = l->begins && l->stall_ms > BEGIN_MS ? BEGIN_MS : l->stall_ms;

	return monotonic_now() - l->progress > shortened(l, most) * MS ? -ETIMEDOUT : 0;
}

/* Whether to continue to wait. 0 or -errno. */
static int check_time(const struct relay_link *l)
{
	return l->quits && l->quits(l->arg) ? -ECANCELED : check_progress(l);
}

/* ---- replies ---- */

/*
 * After a read: acknowledges at once. The relay's kernel holds a small reply back while an earlier
 * one is not acknowledged, and this one would wait 40 ms for something to send with it.
 */
static void acknowledge(struct relay_link *l)
{
	int one = 1;

	setsockopt(l->control, IPPROTO_TCP, TCP_QUICKACK, &one, sizeof(one));
	l->unacknowledged = false;
}

/* Handles all replies that were read as a whole. 0 or -errno. */
static int handle_replies(struct relay_link *l)
{
	uint32_t at = 0;
	int err = 0;

	for (; !err && l->in_len - at >= RELAY_REPLY_CODE; at += RELAY_REPLY_CODE) {
		struct relay_wait w = l->waits[l->first];

		l->first = (l->first + 1) % LINK_WAITS;
		l->count--;
		err = l->replied(l->arg, &w, relay_get_u32(l->in + at));
	}
	l->in_len -= at;
	memmove(l->in, l->in + at, l->in_len);
	return err;
}

/*
 * Reads the replies that are due by one call, and no byte after the last of them. 1: some bytes
 * were there; 0: none were; -errno.
 */
static int take_replies(struct relay_link *l)
{
	size_t due = (size_t)l->count * RELAY_REPLY_CODE - l->in_len;
	ssize_t n = recv(l->control, l->in + l->in_len, due, 0);
	int err;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -ECONNRESET;
	l->unacknowledged = true;
	l->progress = monotonic_now();
	l->in_len += (uint32_t)n;
	err = handle_replies(l);
	note_silence(l, l->count ? l->progress : 0);
	return err ? err : 1;
}

/* No reply is outstanding: the relay may have closed the connection, and sends nothing else. */
static int check_silence(const struct relay_link *l)
{
	uint8_t byte;
	ssize_t n = recv(l->control, &byte, 1, MSG_PEEK);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	return n ? -EPROTO : -ECONNRESET;
}

int link_poll(struct relay_link *l)
{
	short revents;
	int n;

	/* The next command is an acknowledgement, too, and costs less. None came. */
	if (l->unacknowledged)
		acknowledge(l);
	n = wait_slice(l, l->control, 0, 0, &revents);
	if (n)
		return n;
	if (!revents)
		return l->count ? check_progress(l) : 0;
	if (!l->count)
		return check_silence(l);
	while (l->count && (n = take_replies(l)) > 0 && l->prompt)
		acknowledge(l);
	if (n < 0 || !l->count)
		return n < 0 ? n : 0;
	/* The relay owes replies. */
	return check_progress(l);
}

int link_wait(struct relay_link *l, unsigned int ms)
{
	short revents;
	uint32_t before = l->count;
	int err = link_flush(l);

	err = err ? err : check_time(l);
	err = err ? err
		  : wait_slice(l, l->control, POLLIN, (int)(ms < SLICE_MS ? ms : SLICE_MS),
			       &revents);
	if (err)
		return err;
	if (!revents)
		return -EAGAIN;
	err = link_poll(l);
	if (!err && l->unacknowledged)
		acknowledge(l);
	return err ? err : l->count < before ? 0 : -EAGAIN;
}

int link_pause(struct relay_link *l, unsigned int ms)
{
	int err = link_flush(l);

	poll(NULL, 0, (int)(ms < SLICE_MS ? ms : SLICE_MS));
	err = err ? err : link_poll(l);
	return err ? err : check_time(l);
}

/* Waits until all outstanding replies were read, but for `most`. */
static int settle(struct relay_link *l, uint32_t most)
{
	int err = link_flush(l);

	while (!err && l->count > most) {
		err = link_wait(l, SLICE_MS);
		err = err == -EAGAIN ? 0 : err;
	}
	return err;
}

/* ---- sending ---- */

static void advance(struct iovec **iov, int *count, size_t n)
{
	for (; *count && n >= (*iov)->iov_len; ++*iov, --*count)
		n -= (*iov)->iov_len;
	if (*count) {
		(*iov)->iov_base = (char *)(*iov)->iov_base + n;
		(*iov)->iov_len -= n;
	}
}

static int send_all(struct relay_link *l, int fd, struct iovec *iov, int count)
{
	int err = 0;
	short revents;

	l->progress = monotonic_now();
	while (count && !err) {
		struct msghdr m = { .msg_iov = iov, .msg_iovlen = (size_t)count };
		ssize_t n = sendmsg(fd, &m, MSG_NOSIGNAL);

		if (n >= 0) {
			l->progress = monotonic_now();
			advance(&iov, &count, (size_t)n);
		} else if (errno == EAGAIN) {
			err = wait_slice(l, fd, POLLOUT, SLICE_MS, &revents);
			/* A relay whose replies are not read takes no more commands. */
			err = err || !l->count ? err : link_poll(l);
			err = err ? err : check_time(l);
		} else if (errno != EINTR) {
			err = -errno;
		}
	}
	return err;
}

int link_flush(struct relay_link *l)
{
	struct iovec v = { l->out.data, l->out.len };
	int err;

	if (l->out.failed)
		return -ENOMEM;
	if (!l->out.len)
		return 0;
	err = send_all(l, l->control, &v, 1);
	l->unacknowledged = false;
	md_buf_reset(&l->out);
	return err;
}

int link_expect(struct relay_link *l, const struct relay_wait *w)
{
	int err = l->count == LINK_WAITS ? settle(l, LINK_WAITS / 2) : 0;

	if (err)
		return err;
	if (!l->count)
		note_silence(l, monotonic_now());
	l->waits[(l->first + l->count) % LINK_WAITS] = *w;
	l->count++;
	return l->out.len > OUT_MANY ? link_flush(l) : l->out.failed ? -ENOMEM : 0;
}

int link_send(struct relay_link *l, struct iovec *iov, int count)
{
	return send_all(l, l->data, iov, count);
}

/* ---- calls ---- */

int link_read(struct relay_link *l, void *to, size_t size)
{
	uint8_t *p = to;
	short revents;
	int err = 0;

	while (size && !err) {
		ssize_t n = recv(l->control, p, size, 0);

		if (n > 0) {
			acknowledge(l);
			l->progress = monotonic_now();
			p += n;
			size -= (size_t)n;
		} else if (n == 0) {
			err = -ECONNRESET;
		} else if (errno == EAGAIN) {
			err = wait_slice(l, l->control, POLLIN, SLICE_MS, &revents);
			err = err ? err : check_time(l);
		} else if (errno != EINTR) {
			err = -errno;
		}
	}
	return err;
}

int link_call(struct relay_link *l, void *reply, size_t size)
{
	int err = settle(l, 0);

	note_silence(l, monotonic_now());
	err = err ? err : link_read(l, reply, size);
	note_silence(l, 0);
	return err;
}
