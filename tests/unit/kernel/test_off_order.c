/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core trail pthread */
/*
 * Channels that have an event in common give it up in the opposite order to that in which they got
 * it: else the kernel waits for a grace period for each such event.
 */
#include <stdlib.h>
#include <unistd.h>

#include "tests/lib/state_dir.h"
#include "tests/lib/test.h"
#include "tracer/face/tracer.h"
#include "tracer/kernel/kernel.h"

#define EVENT "timer_init"             /* the daemon itself wants none of this kind */

static struct tracer *t;
static struct tracer_config config;
static const struct backend_ops *ops;
static const struct backend_channel *known[4];
static char said[256];                  /* the switches so far: +N and -N */

static int enable(struct backend_channel *c, const char *system, const char *event, bool on)
{
	size_t n = 0, len = strlen(said);
	char one[8];

	if (!event || strcmp(event, EVENT))
		return ops->enable(c, system, event, on);
	while (n < 3 && known[n] && known[n] != c)
		n++;
	known[n] = c;
	/* What is off may be switched off once more. */
	snprintf(one, sizeof(one), " %c%zu", on ? '+' : '-', n + 1);
	if (!strstr(said, one))
		snprintf(said + len, sizeof(said) - len, "%s", one);
	return ops->enable(c, system, event, on);
}

static void forget(void)
{
	memset(known, 0, sizeof(known));
	*said = 0;
}

/* The tracer's kernel domain, whose switches are written down. */
static bool open_tracer(void)
{
	static struct backend_ops listening;
	struct tr_err err = TR_ERR_INIT;
	struct kernel *k;

	forget();
	if (tracer_open(&config, &t, &err)) {
		printf("# %s\n", err.sentence);
		return false;
	}
	k = kernel_of(t);
	if (!k || access("/sys/kernel/tracing/events/timer/" EVENT, F_OK)) {
		tracer_close(t, false);
		t = NULL;
		return false;
	}
	ops = k->ops;
	listening = *ops;
	listening.enable = enable;
	k->ops = &listening;
	return true;
}

/* Makes a session with this number of channels, each with the event, and starts it. */
static struct session *start(const char *name, int channels)
{
	const struct owner me = { getuid(), getgid(), { 0 } };
	struct tr_err err = TR_ERR_INIT;
	struct session *s;

	CHECK(session_create(t, name, &me, &err) == 0);
	s = session_get(t, name);
	for (char c[] = "a"; channels--; ++*c) {
		CHECK(channel_create(s, DOMAIN_KERNEL, c, &err) == 0);
		CHECK(events_store(s, DOMAIN_KERNEL, c, "timer:" EVENT "\n", true, &err) == 0);
	}
	CHECK(session_control(s, "start\n", 0, &err) == 0);
	if (*err.sentence)
		printf("# %s\n", err.sentence);
	return s;
}

static void channels_of_a_session(void)
{
	struct tr_err err = TR_ERR_INIT;
	struct session *s;

	if (!open_tracer())
		SKIP("the kernel cannot be traced here");
	s = start("one", 3);
	CHECK_STR(said, " +1 +2 +3");
	CHECK(session_control(s, "stop\n", 0, &err) == 0);
	CHECK_STR(said, " +1 +2 +3 -3 -2 -1");
	session_put(s);
}

static void sessions_of_a_daemon(void)
{
	if (!t)
		SKIP("the kernel cannot be traced here");
	forget();
	session_put(start("first", 1));
	session_put(start("second", 1));
	session_put(start("third", 1));
	CHECK_STR(said, " +1 +2 +3");
	tracer_close(t, false);
	CHECK_STR(said, " +1 +2 +3 -3 -2 -1");
}

int main(int argc, char **argv)
{
	int helped;

	if (tracer_helper(argc, argv, &helped))
		return helped;
	if (!make_state_dir("off", &config))
		return 2;
	alarm(300);
	CASE(channels_of_a_session);
	CASE(sessions_of_a_daemon);
	return test_summary();
}
