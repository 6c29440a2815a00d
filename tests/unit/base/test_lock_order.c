// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The order of locks: builds with sanitizers end a program that takes two locks in the wrong order.
 */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "tracer/base/lock_order.h"

#ifdef LOCKS_CHECKED

static pthread_mutex_t session, tracer, leaf = PTHREAD_MUTEX_INITIALIZER;

static void take_in_order(void)
{
	pthread_mutex_lock(&session);
	pthread_mutex_lock(&tracer);
	pthread_mutex_lock(&leaf);
	pthread_mutex_unlock(&leaf);
	pthread_mutex_unlock(&session);
	pthread_mutex_unlock(&tracer);
	/* What is released does not count. */
	pthread_mutex_lock(&tracer);
	pthread_mutex_unlock(&tracer);
	pthread_mutex_lock(&session);
	pthread_mutex_unlock(&session);
}

static void take_in_wrong_order(void)
{
	pthread_mutex_lock(&tracer);
	pthread_mutex_lock(&session);
}

static void take_twice(void)
{
	pthread_mutex_lock(&tracer);
	pthread_mutex_lock(&tracer);
}

/* An attempt never waits, so it is allowed; but then the thread holds the lock. */
static void try_in_wrong_order(void)
{
	pthread_mutex_lock(&tracer);
	if (!pthread_mutex_trylock(&session))
		pthread_mutex_unlock(&session);
	pthread_mutex_unlock(&tracer);
}

/* Runs f in a child. Returns the signal that ended it, or 0; what it said is in text. */
static int run(void (*f)(void), char *text, size_t size)
{
	int fds[2], status = -1;
	ssize_t n = 0, got;
	pid_t child;

	text[0] = '\0';
	if (pipe(fds) < 0)
		return -1;
	child = fork();
	if (!child) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		signal(SIGABRT, SIG_DFL);       /* no report of the sanitizer */
		dup2(fds[1], STDERR_FILENO);
		f();
		_exit(0);
	}
	close(fds[1]);
	while ((size_t)n < size - 1 && (got = read(fds[0], text + n, size - 1 - (size_t)n)) > 0)
		n += got;
	text[n] = '\0';
	close(fds[0]);
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;
	return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) ? -1 : 0;
}

static void right(void)
{
	char text[256];

	CHECK(run(take_in_order, text, sizeof(text)) == 0);
	CHECK_STR(text, "");
	CHECK(run(try_in_wrong_order, text, sizeof(text)) == 0);
	CHECK_STR(text, "");
}

static void wrong(void)
{
	char text[256];

	CHECK(run(take_in_wrong_order, text, sizeof(text)) == SIGABRT);
	CHECK_STR(text, "order of locks: session.lock is taken while tracer.lock is held\n");
	CHECK(run(take_twice, text, sizeof(text)) == SIGABRT);
	CHECK_STR(text, "order of locks: tracer.lock is taken while tracer.lock is held\n");
}

static void held(void)
{
	CHECK(!lock_held(&session));
	pthread_mutex_lock(&session);
	CHECK(lock_held(&session) && !lock_held(&tracer));
	pthread_mutex_unlock(&session);
	CHECK(!lock_held(&session));
}

int main(void)
{
	lock_init(&session, NULL, LOCK_SESSION);
	lock_init(&tracer, NULL, LOCK_TRACER);
	CASE(right);
	CASE(wrong);
	CASE(held);
	pthread_mutex_destroy(&session);
	pthread_mutex_destroy(&tracer);
	return test_summary();
}

#else

int main(void)
{
	printf("1..0 # SKIP only builds with sanitizers check the order of locks\n");
	return 77;
}

#endif
