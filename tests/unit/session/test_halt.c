/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core trail pthread */
/*
 * session_halt(), the first half of a stop: a program's next hit finds its event off, and the
 * function waits for no lock. A start between the two halves holds.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <trail/trail.h>

#include "tests/lib/state_dir.h"
#include "tests/lib/test.h"
#include "tracer/face/tracer.h"
#include "tracer/session/session.h"

static struct tracer *t;
static struct session *s;
static int program = -1;        /* a socket: a byte there makes one hit */

/* ---- the program ---- */

static int seen(char *on)
{
	return ++*on;
}

static int run_program(void)
{
	char on;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(0, &on, 1) == 1) {
		on = 0;
		TRAIL(halt, tick, TRAIL_FIELD(on, seen(&on)));
		if (write(0, &on, 1) != 1)
			return 1;
	}
	return 0;
}

static pid_t start_program(const char *self)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -1;
	pid = fork();
	if (!pid) {
		dup2(ends[1], 0);
		execl(self, self, "--program", NULL);
		_exit(127);
	}
	close(ends[1]);
	program = ends[0];
	return pid;
}

/* One hit. True: its event is on. */
static bool is_on(void)
{
	char on = 0;

	CHECK(write(program, "", 1) == 1 && read(program, &on, 1) == 1);
	return on;
}

static bool comes_on(void)
{
	for (int i = 0; i < 60000; i++) {
		if (is_on())
			return true;
		usleep(1000);
	}
	return false;
}

/* ---- the cases ---- */

static bool is_active(void)
{
	struct session_info info;

	session_info(s, &info);
	return info.active;
}

/* Other threads hold a lock for a moment. */
static bool halts(void)
{
	int ret;

	while ((ret = session_halt(s)) == -EAGAIN)
		usleep(1000);
	return ret == 0;
}

static void halt(void)
{
	struct tr_err err = TR_ERR_INIT;

	CHECK(session_control(s, "start\n", 0, &err) == 0 && comes_on());
	CHECK(halts());
	CHECK(!is_on());
	CHECK(session_halt(s) == -EAGAIN);
	/* What follows the session must not end before the barrier. */
	session_lock(s);
	session_unlock(s);
	CHECK(is_active());
	CHECK(session_halted(s, &err) == 0);
	CHECK(!is_on() && !is_active());
}

static void start_between(void)
{
	struct tr_err err = TR_ERR_INIT;

	CHECK(session_control(s, "start\n", 0, &err) == 0 && comes_on());
	CHECK(halts());
	CHECK(session_control(s, "start\n", 0, &err) == 0 && comes_on());
	CHECK(session_halted(s, &err) == 0);
	CHECK(is_on() && is_active());
}

/* Who writes `stop` then has what it promises: no event after it, and not EBUSY. */
static void stop_between(void)
{
	struct tr_err err = TR_ERR_INIT;

	CHECK(is_active() && halts());
	CHECK(session_control(s, "stop\n", 0, &err) == 0);
	CHECK(!is_on() && !is_active());
	CHECK(session_halted(s, &err) == 0);
	CHECK(!is_on() && !is_active());
	CHECK(session_control(s, "stop\n", 0, &err) == -EBUSY);
	CHECK(session_control(s, "start\n", 0, &err) == 0 && comes_on());
}

static void *halt_it(void *ret)
{
	*(int *)ret = session_halt(s);
	return ret;
}

static int halt_in_a_thread(void)
{
	pthread_t thread;
	int ret = 0;

	if (pthread_create(&thread, NULL, halt_it, &ret) == 0)
		pthread_join(thread, NULL);
	return ret;
}

/* The session is active. A halt that waited for a lock would wait for the alarm. */
static void locks(void)
{
	session_lock(s);
	CHECK(halt_in_a_thread() == -EAGAIN);
	session_unlock(s);
	pthread_mutex_lock(&t->lock);
	CHECK(halt_in_a_thread() == -EAGAIN);
	pthread_mutex_unlock(&t->lock);
	CHECK(is_on() && is_active());
}

int main(int argc, char **argv)
{
	struct tr_err err = TR_ERR_INIT;
	const struct owner me = { getuid(), getgid(), { 0 } };
	struct tracer_config config = { 0 };
	pid_t pid;
	int helped;

	if (tracer_helper(argc, argv, &helped))
		return helped;
	if (argc > 1 && !strcmp(argv[1], "--program"))
		return run_program();
	if (!make_state_dir("halt", &config))
		return 2;
	if (tracer_open(&config, &t, &err) || session_create(t, "a", &me, &err) ||
	    !(s = session_get(t, "a")) ||
	    events_store(s, DOMAIN_USER, NULL, "halt:*\n", true, &err)) {
		printf("not ok: %s\n", err.sentence);
		return 1;
	}
	pid = start_program(argv[0]);
	alarm(120);
	CASE(halt);
	CASE(start_between);
	CASE(stop_between);
	CASE(locks);
	close(program);
	waitpid(pid, NULL, 0);
	session_put(s);
	tracer_close(t, false);
	return test_summary();
}
