// SPDX-License-Identifier: MIT
/*
 * The connection to the daemon of one lane (tracer/abi/app.h), and whether that is a daemon which a
 * program may trust: of root, or of its own user.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "ustlib/exchange.h"
#include "ustlib/lib.h"

#define NO_USER 65534u  /* how the kernel names users that the user namespace does not map */

/* dir: of the lane; name: of the socket in it. */
static bool connect_at(int fd, const char *dir, const char *name)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	size_t n = strlen(dir), size = strlen(name) + 1;

	if (n + size > sizeof(addr.sun_path)) {
		errno = ENAMETOOLONG;
		return false;
	}
	memcpy(addr.sun_path, dir, n);
	memcpy(addr.sun_path + n, name, size);
	return connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0;
}

bool lane_is_hidden(unsigned int lane)
{
	struct stat st;

	return stat(runtime_dir[lane], &st) < 0 && errno == ENOENT;
}

/* The daemon listens at an abstract address, too: the path of its socket after a NUL. */
static bool connect_without_path(int fd, const char *dir)
{
	static const char name[] = "/socket";
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	size_t n = strlen(dir), size = n + sizeof(name) - 1;

	if (size > sizeof(addr.sun_path) - 1) {
		errno = ENAMETOOLONG;
		return false;
	}
	memcpy(addr.sun_path + 1, dir, n);
	memcpy(addr.sun_path + 1 + n, name, sizeof(name) - 1);
	return connect(fd, (struct sockaddr *)&addr,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size)) == 0;
}

/*
 * The socket that root's daemon has for this user, so that no other user's connections are before
 * ours; if there is none for us, the common one; after chroot(2), where the directory cannot be
 * reached, the one without a path. EAGAIN: the kernel's queue is full.
 */
static bool connect_to_daemon(int fd, unsigned int lane)
{
	char own[32];

	if (lane == TRAIL_LANE_ROOT) {
		snprintf(own, sizeof(own), "/sockets/%u", geteuid());
		if (connect_at(fd, runtime_dir[lane], own))
			return true;
		if (errno == EAGAIN)
			return false;
	}
	if (connect_at(fd, runtime_dir[lane], "/socket"))
		return true;
	/* A container that has a state directory of its own does not get another's daemon. */
	return errno == ENOENT && lane_is_hidden(lane) &&
	       connect_without_path(fd, runtime_dir[lane]);
}

/* A decimal number at *at, which is moved after it; blanks before it are skipped. */
static unsigned long long read_number(const char **at)
{
	unsigned long long n = 0;

	*at += strspn(*at, " \n");
	for (; **at >= '0' && **at <= '9'; (*at)++)
		n = n * 10 + (unsigned int)(**at - '0');
	return n;
}

/*
 * Has the user namespace of this process no number for some users? A line of the map is `FIRST
 * OUTSIDE COUNT` (user_namespaces(7)). Without /proc: not known, false.
 */
static bool has_unmapped_users(void)
{
	int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
	unsigned long long mapped = 0;
	const char *at, *line;
	char text[4096];
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0 || n == sizeof(text) - 1)
		return false;
	text[n] = '\0';
	for (at = line = text; *at; line = at) {
		read_number(&at);
		read_number(&at);
		mapped += read_number(&at);
		at += strspn(at, " \n");
		if (at == line)
			return false;
	}
	return mapped < UINT32_MAX;
}

bool is_of_root(uid_t uid)
{
	return uid == 0 || (uid == NO_USER && geteuid() != NO_USER && has_unmapped_users());
}

/*
 * In a container of an ordinary user the host's root has no number. Its daemon is then known by the
 * directory, which belongs to a user without a number, too, who alone can write to it. Only who
 * made the container could mount such a directory in it.
 */
static bool is_host_root(unsigned int lane, uid_t uid)
{
	struct stat st;

	return lane == TRAIL_LANE_ROOT && uid == NO_USER && is_of_root(uid) &&
	       stat(runtime_dir[lane], &st) == 0 && st.st_uid == NO_USER && !(st.st_mode & 022);
}

int dial(unsigned int lane)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	int fd, err;

	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (!connect_to_daemon(fd, lane)) {
		err = errno;
		close(fd);
		errno = err;
		return -1;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	    (peer.uid == 0 || peer.uid == geteuid() || is_host_root(lane, peer.uid)))
		return fd;
	close(fd);
	errno = EACCES;
	return -1;
}

bool daemon_lives(unsigned int lane)
{
	int fd = dial(lane);

	if (fd < 0)
		return errno == EAGAIN;
	close(fd);
	return true;
}
