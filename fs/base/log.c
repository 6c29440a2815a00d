/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages for the administrator. The journal gets them by its native protocol (systemd's
 * documentation, "Native Journal Protocol"): a datagram of lines FIELD=VALUE.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "fs/base/base.h"

#define LINE_MAX_BYTES 1024
#define FIELDS_MAX (LINE_MAX_BYTES + 8192)

enum sink { SINK_UNKNOWN, SINK_STDERR, SINK_SYSLOG, SINK_JOURNAL };

static enum say_level most = SAY_INFO;  /* set before there are threads */
static char mountpoint[4096];           /* set before there are threads; "": not known */
/* Atomic: it is set while other threads may log. The acquire in find_sink() pairs with it. */
static int sink;

static const int priorities[] = { LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

/* ---- the journal ---- */

/* systemd says which socket of the journal standard error is (systemd.exec(5), JOURNAL_STREAM). */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
	       !fstat(STDERR_FILENO, &st) && st.st_dev == dev && st.st_ino == ino;
}

/*
 * A socket of the journal, for one message: what is open when the daemon detaches itself is closed.
 * TRAILFS_JOURNAL names another journal, for tests. -1: there is none.
 */
static int open_journal(void)
{
	const char *path = getenv("TRAILFS_JOURNAL");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd;

	path = path ? path : "/run/systemd/journal/socket";
	if (strlen(path) >= sizeof(to.sun_path))
		return -1;
	strcpy(to.sun_path, path);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static bool have_journal(void)
{
	int fd = open_journal();

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* A field; a value with a newline has its length before it, 64 bits, little-endian. */
static size_t put_field(char *to, size_t room, const char *name, const char *value)
{
	size_t len = strlen(value), n = strlen(name);
	char *p = to;

	if (n + len + 11 > room)
		return 0;
	p = mempcpy(p, name, n);
	if (strchr(value, '\n')) {
		*p++ = '\n';
		for (int i = 0; i < 8; i++)
			*p++ = (char)((uint64_t)len >> 8 * i);
	} else {
		*p++ = '=';
	}
	p = mempcpy(p, value, len);
	*p++ = '\n';
	return (size_t)(p - to);
}

/* False: the journal does not take it. */
static bool put_journal(enum say_level level, const char *session, const char *line)
{
	char text[FIELDS_MAX], number[16];
	int fd = open_journal();
	size_t n = 0;
	bool sent;

	if (fd < 0)
		return false;
	snprintf(number, sizeof(number), "%d", priorities[level]);
	n += put_field(text + n, sizeof(text) - n, "MESSAGE", line);
	n += put_field(text + n, sizeof(text) - n, "PRIORITY", number);
	n += put_field(text + n, sizeof(text) - n, "SYSLOG_IDENTIFIER", "trailfs");
	snprintf(number, sizeof(number), "%d", LOG_FAC(LOG_DAEMON));
	n += put_field(text + n, sizeof(text) - n, "SYSLOG_FACILITY", number);
	if (session)
		n += put_field(text + n, sizeof(text) - n, "SESSION", session);
	if (*mountpoint)
		n += put_field(text + n, sizeof(text) - n, "MOUNTPOINT", mountpoint);
	sent = send(fd, text, n, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)n;
	close(fd);
	return sent;
}

/* ---- messages ---- */

static int find_sink(void)
{
	int now = __atomic_load_n(&sink, __ATOMIC_ACQUIRE);

	if (now == SINK_UNKNOWN) {
		now = stderr_is_journal() && have_journal() ? SINK_JOURNAL : SINK_STDERR;
		__atomic_store_n(&sink, now, __ATOMIC_RELAXED);
	}
	return now;
}

static void put(enum say_level level, const char *session, const char *fmt, va_list ap)
{
	char line[LINE_MAX_BYTES];
	int to;

	if (level > most)
		return;
	vsnprintf(line, sizeof(line), fmt, ap);
	to = find_sink();
	if (to == SINK_JOURNAL && put_journal(level, session, line))
		return;
	if (to != SINK_STDERR)
		syslog(priorities[level], "%s", line);
	else
		fprintf(stderr, "trailfs: %s\n", line);
}

void say(enum say_level level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put(level, NULL, fmt, ap);
	va_end(ap);
}

void say_about(enum say_level level, const char *session, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put(level, session, fmt, ap);
	va_end(ap);
}

void say_mountpoint(const char *path)
{
	snprintf(mountpoint, sizeof(mountpoint), "%s", path);
}

void say_level(enum say_level level)
{
	most = level;
}

void say_to_syslog(void)
{
	openlog("trailfs", LOG_PID, LOG_DAEMON);
	/* Release: a thread that sees it may use the log, which is open. */
	__atomic_store_n(&sink, have_journal() ? SINK_JOURNAL : SINK_SYSLOG, __ATOMIC_RELEASE);
}
