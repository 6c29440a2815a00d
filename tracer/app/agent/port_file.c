// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/app/agent/port_file.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/app/agent/tcp_table.h"
#include "tracer/base/os/state_file.h"

#define NAME "agent.port"
#define TEMPORARY "." NAME ".trailfs"
#define FIRST_PORT 5345u        /* of ten that LTTng's daemon tries */
#define PORTS 10u

int port_file_place(char dir[PATH_MAX])
{
	const char *place = getenv("LTTNG_UST_APP_PATH"), *home = getenv("LTTNG_HOME");
	int n;

	if (place && *place)
		n = snprintf(dir, PATH_MAX, "%s", place);
	else if (geteuid() == 0 && !home)
		n = snprintf(dir, PATH_MAX, "/var/run/lttng");
	else if (home || (home = getenv("HOME")))
		n = snprintf(dir, PATH_MAX, "%s/.lttng", home);
	else
		return -ENOENT;
	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* 0: there is no file, or it has no port. */
static uint16_t read_port(int dir)
{
	struct md_buf text = MD_BUF_INIT;
	unsigned int port = 0;

	if (!state_file_read(dir, NAME, 64, &text) &&
	    (sscanf(md_buf_str(&text), "%6u", &port) != 1 || port > UINT16_MAX))
		port = 0;
	md_buf_deinit(&text);
	return (uint16_t)port;
}

/* Agents of all users read it, whatever the umask is. */
static int write_port(int dir, uint16_t port)
{
	char text[8];
	int n = snprintf(text, sizeof(text), "%u\n", port), fd, ret = 0;

	unlinkat(dir, TEMPORARY, 0);
	fd = openat(dir, TEMPORARY, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	if (fchmod(fd, 0644) < 0 || write(fd, text, (size_t)n) != n ||
	    renameat(dir, TEMPORARY, dir, NAME) < 0)
		ret = errno ? -errno : -EIO;
	close(fd);
	if (ret)
		unlinkat(dir, TEMPORARY, 0);
	return ret;
}

static int listen_on(uint16_t port, uint16_t *got)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1, ret;
	socklen_t size = sizeof(a);

	if (fd < 0)
		return -errno;
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	/* The connections of a daemon that was killed do not keep its port. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 64) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &size) < 0) {
		ret = -errno;
		close(fd);
		return ret;
	}
	*got = ntohs(a.sin_port);
	return fd;
}

/* old: of an earlier daemon; agents that were connected to it know no other. Then any port. */
static int listen_anywhere(uint16_t old, uint16_t *got)
{
	int fd = old >= 1024 ? listen_on(old, got) : -EADDRINUSE;

	for (uint16_t i = 0; fd < 0 && i < PORTS; i++)
		fd = listen_on((uint16_t)(FIRST_PORT + i), got);
	return fd < 0 ? listen_on(0, got) : fd;
}

static int open_place(char path[PATH_MAX], bool make)
{
	int ret = port_file_place(path), fd;

	if (!ret && make)
		ret = state_file_mkdir(path, 0755);
	if (ret)
		return ret;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int port_file_open(uint16_t *port, struct tr_err *err)
{
	char path[PATH_MAX];
	int dir = open_place(path, true), fd, ret;
	uint16_t old;

	if (dir < 0)
		return tr_fail(err, dir, "no place for the file agent.port: %s", strerror(-dir));
	old = read_port(dir);
	if (!old)
		old = *port;
	else if (tcp_port_is_taken(old)) {
		close(dir);
		return tr_fail(err, -EADDRINUSE,
			       "another daemon serves agents: %.120s/" NAME
			       " has port %u, on which a program listens (is it lttng-sessiond?)",
			       path, old);
	}
	fd = listen_anywhere(old, port);
	if (fd < 0) {
		close(dir);
		return tr_fail(err, fd, "no port for agents: %s", strerror(-fd));
	}
	ret = write_port(dir, *port);
	close(dir);
	if (!ret)
		return fd;
	close(fd);
	return tr_fail(err, ret, "%.120s/" NAME " cannot be written: %s", path, strerror(-ret));
}

int port_file_check(uint16_t port, struct tr_err *err)
{
	char path[PATH_MAX];
	int dir = open_place(path, false);
	uint16_t now = dir < 0 ? 0 : read_port(dir);
	int ret = 0;

	if (now && now != port && tcp_port_is_taken(now))
		ret = tr_fail(err, -EADDRINUSE,
			      "another daemon serves new agents: %.120s/" NAME " has its port %u",
			      path, now);
	else if (now != port && dir >= 0)
		write_port(dir, port);
	if (dir >= 0)
		close(dir);
	return ret;
}

void port_file_close(int listener, uint16_t port)
{
	char path[PATH_MAX];
	int dir = open_place(path, false);

	close(listener);
	if (dir >= 0 && read_port(dir) == port)
		unlinkat(dir, NAME, 0);
	if (dir >= 0)
		close(dir);
}
