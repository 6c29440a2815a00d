/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A directory for a keeper, what it holds, and its process */
#ifndef TESTS_UNIT_KEEPER_KEEPER_PROCESS_H
#define TESTS_UNIT_KEEPER_KEEPER_PROCESS_H

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "tracer/base/keeper/keeper.h"
#include "tracer/base/keeper/protocol.h"
#include "tracer/base/os/state_file.h"

static char dir[300];

#ifdef SYS_newfstatat
/*
 * In each process of the test: the name of a file that is removed can still be found for a moment,
 * as the kernel says that a link is gone before it drops the name. Here that moment does not end.
 */
int fstatat(int at, const char *path, struct stat *st, int flags)
{
	static struct stat last;
	long ret = syscall(SYS_newfstatat, at, path, st, flags);

	if (strcmp(path, KEEPER_SOCKET) != 0)
		return (int)ret;
	if (!ret)
		last = *st;
	else if (errno == ENOENT && last.st_ino) {
		*st = last;
		st->st_nlink = 0;
		ret = 0;
	}
	return (int)ret;
}
#endif

static void new_dir(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%s/keeper.XXXXXX", tmp ? tmp : "/tmp");
	CHECK(mkdtemp(dir) != NULL);
}

static void remove_dir(void)
{
	state_file_remove(AT_FDCWD, dir);
}

static int memfd(const char *text)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	return fd;
}

struct seen {
	int count, sum;
	char text[256];
};

static void see(void *arg, const char *name, int fd)
{
	struct seen *seen = arg;
	char text[32] = "";

	CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
	CHECK(pread(fd, text, sizeof(text) - 1, 0) >= 0);
	if (strlen(seen->text) < 200)
		sprintf(seen->text + strlen(seen->text), "%.60s=%s ", name, text);
	seen->count++;
	seen->sum += atoi(text);
	close(fd);
}

static pid_t pid_of(struct keeper *k)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);

	(void)k;
	/* The first descriptor that is connected to a keeper tells. */
	for (int fd = 3; fd < 100; fd++) {
		struct sockaddr_un a = { 0 };
		socklen_t alen = sizeof(a);

		if (!getpeername(fd, (struct sockaddr *)&a, &alen) && a.sun_family == AF_UNIX &&
		    strstr(a.sun_path, "keeper") &&
		    !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
			return peer.pid;
	}
	return -1;
}

#define LONG 60000      /* ms: for what a loaded machine does late */

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Whether the process ends within this time. */
static bool gone(pid_t pid, int ms)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	int64_t end = now_ms() + ms;
	char path[64], state[600];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	for (;;) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? -1 : read(fd, state, sizeof(state) - 1);

		if (fd >= 0)
			close(fd);
		state[n > 0 ? n : 0] = '\0';
		/* A zombie whose adopter is slow is gone too. */
		if (n <= 0 || strstr(state, ") Z "))
			return true;
		if (now_ms() > end)
			return false;
		nanosleep(&pause, NULL);
	}
}

#endif
