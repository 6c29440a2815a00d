/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core pthread */
/*
 * Signs of life: only while the server is busy, to all that wait, also to those that it has not
 * accepted itself.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "tracer/abi/app.h"
#include "tracer/app/pulse.h"

static struct sockaddr_un addr = { .sun_family = AF_UNIX };
static int listener, wake;

static int dial(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0);
	return fd;
}

static bool hears_life(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct trail_answer a;

	return poll(&p, 1, ms) == 1 && recv(fd, &a, sizeof(a), MSG_DONTWAIT) == sizeof(a) &&
	       a.magic == TRAIL_ALIVE_MAGIC;
}

static void waiting(void)
{
	struct pulse *p = NULL;
	int pair[2];

	CHECK(pulse_create(listener, wake, &p) == 0);
	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	CHECK(pulse_add(p, pair[0]) == 0);
	CHECK(!hears_life(pair[1], 20));
	pulse_busy(p);
	for (int i = 0; i < 5; i++)
		CHECK(hears_life(pair[1], 60000));
	pulse_remove(p, pair[0]);
	while (hears_life(pair[1], 0))
		;
	CHECK(!hears_life(pair[1], 20));
	CHECK(pulse_add(p, pair[0]) == 0);
	CHECK(hears_life(pair[1], 60000));
	pulse_idle(p);
	pulse_destroy(p);
	close(pair[0]);
	close(pair[1]);
}

/* Who does not read gets one sign, and then the answer still fits. */
static void unread(void)
{
	struct pulse *p = NULL;
	int pair[2], silent[2];

	CHECK(pulse_create(listener, wake, &p) == 0);
	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, silent) == 0);
	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	CHECK(pulse_add(p, silent[0]) == 0 && pulse_add(p, pair[0]) == 0);
	pulse_busy(p);
	for (int i = 0; i < 10; i++)
		CHECK(hears_life(pair[1], 60000));
	pulse_remove(p, silent[0]);
	CHECK(hears_life(silent[1], 0));
	CHECK(!hears_life(silent[1], 0));
	pulse_destroy(p);
	for (int i = 0; i < 2; i++) {
		close(pair[i]);
		close(silent[i]);
	}
}

static int listen_at(struct sockaddr_un *at)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	CHECK(fd >= 0 && bind(fd, (struct sockaddr *)at, sizeof(*at)) == 0 && listen(fd, 64) == 0);
	return fd;
}

static bool is_at(int fd, const struct sockaddr_un *at)
{
	struct sockaddr_un name;
	socklen_t len = sizeof(name);

	return getsockname(fd, (struct sockaddr *)&name, &len) == 0 &&
	       !strcmp(name.sun_path, at->sun_path);
}

/* One listener's crowd is not before another's connection. */
static void listeners_take_turns(void)
{
	struct sockaddr_un first = addr, second = addr;
	struct pulse *p = NULL;
	int crowd[15], peer, other, found = -1, fd, n = 0;

	strcat(second.sun_path, ".2");
	other = listen_at(&second);
	CHECK(pulse_create(listener, wake, &p) == 0 && pulse_listen(p, other) == 0);
	for (int i = 0; i < 15; i++)
		crowd[i] = dial();
	addr = second;
	peer = dial();
	addr = first;
	pulse_busy(p);
	CHECK(hears_life(crowd[14], 60000) && hears_life(peer, 60000));
	pulse_idle(p);
	while ((fd = pulse_accept(p)) >= 0) {
		if (is_at(fd, &second))
			found = n;
		n++;
		pulse_remove(p, fd);
		close(fd);
	}
	CHECK(n == 16 && found >= 0 && found < 2);
	pulse_unlisten(p, other);
	pulse_destroy(p);
	for (int i = 0; i < 15; i++)
		close(crowd[i]);
	close(peer);
	close(other);
	unlink(second.sun_path);
}

static void early(void)
{
	struct pollfd woken = { .fd = wake, .events = POLLIN };
	struct pulse *p = NULL;
	int peers[3], fds[3];

	CHECK(pulse_create(listener, wake, &p) == 0);
	for (int i = 0; i < 3; i++)
		peers[i] = dial();
	CHECK(pulse_accept(p) < 0);
	pulse_busy(p);
	for (int i = 0; i < 3; i++)
		CHECK(hears_life(peers[i], 60000));
	CHECK(poll(&woken, 1, 60000) == 1);
	for (int i = 0; i < 2; i++) {
		fds[i] = pulse_accept(p);
		CHECK(fds[i] >= 0);
		CHECK(pulse_add(p, fds[i]) == 0);
		CHECK(hears_life(peers[i], 60000) && hears_life(peers[i], 60000));
		pulse_remove(p, fds[i]);
		close(fds[i]);
	}
	/* What was not taken is closed. */
	pulse_destroy(p);
	while (hears_life(peers[2], 0))
		;
	CHECK(recv(peers[2], fds, sizeof(fds), 0) == 0);
	for (int i = 0; i < 3; i++)
		close(peers[i]);
}

int main(void)
{
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/pulse.%d",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", (int)getpid());
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	CHECK(bind(listener, (struct sockaddr *)&addr, sizeof(addr)) == 0 &&
	      listen(listener, 16) == 0);
	CASE(waiting);
	CASE(unread);
	CASE(early);
	CASE(listeners_take_turns);
	unlink(addr.sun_path);
	return test_summary();
}
