/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the operations of tree_storm.c are made of: random numbers, notes and counts, names in the
 * tree, single steps.
 */
#ifndef TESTS_TREE_STORM_H
#define TESTS_TREE_STORM_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES 8
#define THREADS 2
#define HELD 8                  /* descriptors that the threads of a process share */
/* Seconds that the last operation of a worker may take on a loaded machine */
#define GRACE 400

struct tally { uint64_t good, bad; };

/* What a worker is doing, for the report of one that hangs. */
struct note { char what[200]; };

/* Shared by all processes. */
static struct board {
	struct tally tallies[32];
	struct note notes[PROCESSES * THREADS];
	int dead;               /* the error that says so */
} *board;

static const char *mnt, *outputs, *mark;
static uid_t user;              /* this process's */
static uid_t users[3];          /* the caller's, and the two */
static time_t end;
static int held[HELD];          /* atomic; -1: none */

static __thread uint64_t seed;
static __thread struct note *note;
static __thread struct tally *tally;

static unsigned int pick(unsigned int n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned int)((seed >> 16) % n);
}

#define ONE_OF(array) ((array)[pick(sizeof(array) / sizeof((array)[0]))])

/* Takes down how an operation went. */
static bool went(int result)
{
	int error = result < 0 ? errno : 0;

	if (error == ENOTCONN || error == ECONNABORTED)
		__atomic_store_n(&board->dead, error, __ATOMIC_RELAXED);
	__atomic_fetch_add(error ? &tally->bad : &tally->good, 1, __ATOMIC_RELAXED);
	return !error;
}

static void begin(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void begin(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(note->what, sizeof(note->what), fmt, ap);
	va_end(ap);
}

/* ---- names ---- */

/*
 * A session's directory. The caller of the program meddles with the sessions of all, users now and
 * then with those of others.
 */
static void session_path(char *out, size_t size)
{
	unsigned int whose = pick(user == users[0] ? 3 : 8);

	if (user != users[0] && whose > 2)
		whose = user == users[1] ? 1 : 2;
	snprintf(out, size, "%s/sessions/%s-%u-%u", mnt, mark, (unsigned int)users[whose], pick(2));
}

static const char *domain(void)
{
	return pick(12) ? "user" : "kernel";
}

static void channel_path(char *out, size_t size)
{
	static const char *const names[] = { "channel0", "a", "b" };
	char session[400];

	session_path(session, sizeof(session));
	snprintf(out, size, "%s/%s/channels/%s", session, domain(), ONE_OF(names));
}

/* ---- single operations ---- */

static void make(const char *path)
{
	begin("mkdir %s", path);
	went(mkdir(path, 0700));
}

static void drop(const char *path)
{
	begin("rmdir %s", path);
	went(rmdir(path));
}

static bool put(const char *path, const char *text, int flags)
{
	ssize_t n = -1;
	int fd, error;

	begin("write %s: %.60s", path, text);
	fd = open(path, O_WRONLY | O_CLOEXEC | flags);
	if (fd >= 0)
		n = write(fd, text, strlen(text));
	error = errno;
	if (fd >= 0 && close(fd) < 0 && n >= 0) {
		n = -1;
		error = errno;
	}
	errno = error;
	return went(n < 0 ? -1 : 0);
}

/* Reads some of it from where it stands. False: an error, or the end. */
static bool take(int fd)
{
	char buf[16384];

	return read(fd, buf, sizeof(buf)) > 0;
}

static void get(const char *path)
{
	int fd;

	begin("read %s", path);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	went(fd);
	for (int i = 0; fd >= 0 && i < 32 && take(fd); i++)
		;
	if (fd >= 0)
		close(fd);
}

#endif
