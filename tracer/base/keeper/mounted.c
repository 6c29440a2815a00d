/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "tracer/base/keeper/keeper.h"
#include "tracer/base/keeper/mounted.h"
#include "tracer/base/os/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

enum {
	MINUTE_MS = 60000,
	COMES_MS = 300000,      /* for one that has said that it comes */
	START_MS = 60000,       /* for a daemon that was started to come: a disk may be busy */
	PAUSE_MS = 1000,        /* before the second start within a minute */
	ARGUMENTS_MAX = 65536,
	ARGUMENT_COUNT = 256,
	PROCESS_SIZE = 32,      /* of " (process PID)" */
	REQUEST_MAX = (1 << 20) + 4096, /* the kernel reads no larger one */
	NOTIFY_RESEND = 7,      /* not in the headers of older kernels */
};

static int64_t now_ms(void)
{
	return (int64_t)(monotonic_now() / 1000000);
}

bool keeper_mount_ended(int connection)
{
	struct pollfd p = { .fd = connection };

	return connection >= 0 && poll(&p, 1, 0) > 0 && p.revents & POLLERR;
}

/* What was with the daemon comes again. An older kernel cannot: those wait until a signal comes. */
static void begin_refusing(struct mounted *m, int connection)
{
	struct fuse_out_header again = { .len = sizeof(again), .error = NOTIFY_RESEND };

	m->buf = malloc(REQUEST_MAX);
	m->refusing = m->buf != NULL;
	m->hopeless = !m->refusing;
	m->due = m->refusing ? 0 : now_ms();
	if (m->refusing && write(connection, &again, sizeof(again)) < 0)
		syslog(LOG_WARNING, "requests of the dead daemon: %s", strerror(errno));
}

static void plan(struct mounted *m, int connection)
{
	int64_t now = now_ms(), first;
	bool ended = keeper_mount_ended(connection);

	/* What killed those that served the mount need not kill those that end its sessions. */
	if (ended && !m->ending)
		memset(m->deaths, 0, sizeof(m->deaths));
	m->ending = ended;
	memmove(m->deaths, m->deaths + 1, sizeof(m->deaths) - sizeof(*m->deaths));
	m->deaths[MOUNTED_DEATHS - 1] = now;
	first = m->deaths[0];
	if (first && now - first < MINUTE_MS && ended) {
		syslog(LOG_ERR,
		       "the daemon that ends the sessions of the unmounted mount died %d times "
		       "within a minute: trailfs, when it is started, continues with them",
		       MOUNTED_DEATHS);
		m->hopeless = true;
		m->due = now;
		return;
	}
	if (first && now - first < MINUTE_MS) {
		syslog(LOG_ERR,
		       "the daemon died %d times within a minute: it is not started again. Its "
		       "mount answers EIO until trailfs is started; sessions record",
		       MOUNTED_DEATHS);
		begin_refusing(m, connection);
		return;
	}
	first = m->deaths[MOUNTED_DEATHS - 2];
	m->due = now + (first && now - first < MINUTE_MS ? PAUSE_MS : 0);
}

void mounted_died(struct mounted *m, int connection, bool restart, pid_t pid)
{
	m->started = false;
	m->abandoned = !restart;
	m->dead = pid;
	m->why = keeper_mount_ended(connection) ? "the daemon was killed while it ended"
					   : "the daemon was killed";
	if (restart) {
		plan(m, connection);
		return;
	}
	m->due = now_ms() + MINUTE_MS;
	syslog(LOG_WARNING,
	       "the daemon (process %d) was killed, and the keeper may not start another one: its "
	       "mount ends in a minute, unless trailfs is started again", (int)pid);
}

static void forget_process(struct mounted *m)
{
	if (m->process >= 0)
		close(m->process);
	m->process = -1;
}

/* A daemon is expected. Its end is seen at once, or after START_MS if there is no pidfd of it. */
static void expect(struct mounted *m, pid_t pid)
{
	forget_process(m);
	m->started = true;
	m->expected = pid;
	m->due = now_ms() + START_MS;
	if (pid > 0)
		m->process = (int)syscall(SYS_pidfd_open, pid, 0);
	m->reaped = pid > 0 && m->process < 0 && errno == ESRCH;
	if (m->reaped)
		m->due = now_ms();
}

void mounted_replaced(struct mounted *m, bool restart, pid_t pid)
{
	m->abandoned = false;
	if (restart)
		expect(m, pid);
	else
		m->due = now_ms() + MINUTE_MS;
}

/* The daemon that was expected does not come. */
static void give_up(struct mounted *m, int connection, const char *why)
{
	forget_process(m);
	m->started = false;
	m->dead = m->expected;
	m->why = why;
	plan(m, connection);
}

void mounted_failed(struct mounted *m, int connection)
{
	if (m->started)
		give_up(m, connection, keeper_mount_ended(connection)
				? "the daemon died before it had ended the sessions"
				: "the daemon ended before it had the mount");
	else
		forget_process(m);
}

void mounted_awaits(struct mounted *m, bool restart)
{
	if (m->due && !m->refusing && !m->hopeless && (m->started || !restart))
		m->due = now_ms() + COMES_MS;
}

void mounted_served(struct mounted *m)
{
	forget_process(m);
	/* Someone has started one by hand. */
	if (m->refusing || m->hopeless)
		memset(m->deaths, 0, sizeof(m->deaths));
	m->started = m->refusing = m->abandoned = m->hopeless = false;
	m->due = 0;
	free(m->buf);
	m->buf = NULL;
}

int mounted_patience(const struct mounted *m)
{
	int64_t left = m->due - now_ms();

	return !m->due ? -1 : left < 0 ? 0 : (int)left;
}

/* In the child: a process as others are, without the keeper's descriptors. */
static void become_daemon(char *arguments, size_t len)
{
	char *argv[ARGUMENT_COUNT + 1] = { NULL };
	size_t count = 0;

	for (size_t at = 0; at < len && count < ARGUMENT_COUNT; at += strlen(arguments + at) + 1)
		argv[count++] = arguments + at;
	for (int sig = 1; sig < SIGRTMIN; sig++)
		signal(sig, SIG_DFL);
	close_range(3, ~0u, 0);
	setenv(KEEPER_STARTED, "1", 1);
	if (count)
		execv(argv[0], argv);
	/* The program was removed: this process has it. */
	if (count)
		execv("/proc/self/exe", argv);
	_exit(127);
}

/* For the log; nothing if it is not known. */
static void name_process(char *to, size_t size, pid_t pid)
{
	*to = '\0';
	if (pid > 0)
		snprintf(to, size, " (process %d)", (int)pid);
}

/*
 * Starts a daemon in the place of `dead` (0: not known). Returns its pid; 0: it cannot be started,
 * or its pid is not known.
 */
static pid_t start_daemon(int start, const char *why, pid_t dead)
{
	char *arguments = malloc(ARGUMENTS_MAX + 1);
	ssize_t n = arguments ? pread(start, arguments, ARGUMENTS_MAX, 0) : -1;
	int ends[2] = { -1, -1 };
	char was[PROCESS_SIZE], is[PROCESS_SIZE];
	pid_t child, daemon = 0;

	if (pipe2(ends, O_CLOEXEC))
		ends[0] = ends[1] = -1;
	child = n > 0 ? fork() : -1;
	if (!child) {
		arguments[n] = '\0';
		/* Init adopts the daemon. */
		daemon = fork();
		if (!daemon)
			become_daemon(arguments, (size_t)n);
		_exit(write(ends[1], &daemon, sizeof(daemon)) != sizeof(daemon));
	}
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	if (ends[0] >= 0) {
		close(ends[1]);
		if (child < 0 || read(ends[0], &daemon, sizeof(daemon)) != sizeof(daemon))
			daemon = 0;
		close(ends[0]);
	}
	name_process(was, sizeof(was), dead);
	name_process(is, sizeof(is), daemon);
	if (child < 0 || daemon < 0)
		syslog(LOG_ERR, "%s%s, and no other one can be started", why, was);
	else
		syslog(LOG_WARNING, "%s%s: starts another one%s", why, was, is);
	free(arguments);
	return daemon > 0 ? daemon : 0;
}

void mounted_left(struct mounted *m)
{
	mounted_served(m);
	m->why = "the mount without a daemon was unmounted";
	m->dead = 0;
	m->due = now_ms();
}

/* The daemon that was started ends the sessions of an unmounted mount, which has no limit. */
static bool is_ending(const struct mounted *m, int connection)
{
	return m->started && m->process >= 0 && keeper_mount_ended(connection);
}

bool mounted_work(struct mounted *m, int connection, int start)
{
	if (!m->due || now_ms() < m->due)
		return true;
	if (start < 0) {
		syslog(LOG_WARNING,
		       "the daemon was killed, and no other was started for a minute: its mount "
		       "ends");
		return false;
	}
	if (m->hopeless)
		return false;
	if (is_ending(m, connection))
		m->due = now_ms() + START_MS;
	else if (m->started && m->reaped)
		mounted_failed(m, connection);
	else if (m->started)
		give_up(m, connection, "the daemon did not take the mount");
	else
		expect(m, start_daemon(start, m->why, m->dead));
	return true;
}

bool mounted_refuse(struct mounted *m, int connection)
{
	struct fuse_out_header out = { .len = sizeof(out), .error = -EIO };
	ssize_t n = read(connection, m->buf, REQUEST_MAX);
	struct fuse_in_header in;

	if (n < (ssize_t)sizeof(in))
		return n >= 0 || errno != ENODEV;
	memcpy(&in, m->buf, sizeof(in));
	if (in.opcode == FUSE_FORGET || in.opcode == FUSE_BATCH_FORGET ||
	    in.opcode == FUSE_INTERRUPT)
		return true;
	out.unique = in.unique;
	if (write(connection, &out, sizeof(out)) < 0 && errno == ENODEV)
		return false;
	return true;
}
