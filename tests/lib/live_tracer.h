/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tracer in this process and a program that it traces: for tests of rooms that need sessions with
 * events, without a mount. Include it in one file of a program only, which is linked with core and
 * trail.
 *
 * A round of the program is three hits: unit:work_begin { id, path }, unit:work_end { id, ms },
 * unit:note { text, two }. ids count from 1, path is /p0, /p1 or /p2 by the id, ms is twice the id.
 */
#ifndef TESTS_LIB_LIVE_TRACER_H
#define TESTS_LIB_LIVE_TRACER_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <trail/trail.h>

#include "tests/lib/state_dir.h"
#include "tests/lib/test.h"
#include "tracer/face/tracer.h"

#define LIVE_ALL 7u             /* all three events of a round are on */

static struct tracer *live;
static struct tracer_config live_config;
static int live_program = -1;   /* a socket: the id of a round there makes the round */
static pid_t live_pid;
static uint32_t live_rounds;    /* made so far */

static inline const char *live_seen(unsigned *on, unsigned bit, const char *value)
{
	*on |= bit;
	return value;
}

/* Fields of an event that is off are not evaluated. */
static inline int live_run_program(void)
{
	static const char *const paths[] = { "/p0", "/p1", "/p2" };
	uint32_t id;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(0, &id, sizeof(id)) == sizeof(id)) {
		uint32_t ms = 2 * id;
		unsigned on = 0;

		TRAIL(unit, work_begin, id, TRAIL_FIELD(path, live_seen(&on, 1, paths[id % 3])));
		TRAIL(unit, work_end, id, ms, TRAIL_FIELD(path, live_seen(&on, 2, "")));
		TRAIL(unit, note, TRAIL_FIELD(text, live_seen(&on, 4, "a \"note\", <b> & 'c'")),
		      TRAIL_BITS(two, id, 2));
		if (write(0, &on, sizeof(on)) != sizeof(on))
			return 1;
	}
	return 0;
}

/* One round. Which of its events were on, as bits. */
static inline unsigned live_round(void)
{
	uint32_t id = ++live_rounds;
	unsigned on = 0;

	CHECK(write(live_program, &id, sizeof(id)) == sizeof(id));
	CHECK(read(live_program, &on, sizeof(on)) == sizeof(on));
	return on;
}

/* Makes rounds until these events are on: the program asks the tracer at a hit. */
static inline bool live_comes_on(unsigned events)
{
	for (int i = 0; i < 20000; i++) {
		if ((live_round() & events) == events)
			return true;
		usleep(1000);
	}
	return false;
}

static inline bool live_start_program(const char *self)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return false;
	live_pid = fork();
	if (!live_pid) {
		dup2(ends[1], 0);
		execl(self, self, "--program", NULL);
		_exit(127);
	}
	close(ends[1]);
	live_program = ends[0];
	return live_pid > 0;
}

/* False: *ret is what main() shall return. */
static inline bool live_open(int argc, char **argv, int *ret)
{
	struct tr_err err = TR_ERR_INIT;

	if (tracer_helper(argc, argv, ret))
		return false;
	if (argc > 1 && !strcmp(argv[1], "--program")) {
		*ret = live_run_program();
		return false;
	}
	*ret = 2;
	if (!make_state_dir("live", &live_config))
		return false;
	live_config.max_frozen = 256u << 20;
	if (tracer_open(&live_config, &live, &err) || !live_start_program(argv[0])) {
		printf("not ok: %s\n", err.sentence);
		return false;
	}
	return true;
}

static inline int live_close(void)
{
	close(live_program);
	waitpid(live_pid, NULL, 0);
	tracer_close(live, false);
	return test_summary();
}

/* A session of the tests' user; NULL: it was not made. */
static inline struct session *live_session(const char *name)
{
	const struct owner me = { getuid(), getgid(), { 0 } };
	struct tr_err err = TR_ERR_INIT;

	CHECK(session_create(live, name, &me, &err) == 0);
	return session_get(live, name);
}

static inline void live_control(struct session *s, const char *verb)
{
	struct tr_err err = TR_ERR_INIT;
	int ret = session_control(s, verb, 0, &err);

	CHECK(ret == 0);
	if (ret)
		printf("# %s%s\n", verb, err.sentence);
}

#endif
