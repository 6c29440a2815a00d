/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core trail pthread */
/*
 * Triggers on a program's events, on sessions and on amounts: their files, their names for each
 * user, notifications, actions, and what is kept for the next daemon.
 */
#include <errno.h>

#include "tests/lib/live_tracer.h"
#include "tracer/output/snapshot/images.h"
#include "tracer/trigger/trigger.h"
#include "tracer/trigger/trigger_files.h"

static struct session *s;

static struct trigger *make_for(const char *name, uid_t uid)
{
	const struct owner owner = { uid, getgid(), { 0 } };
	struct tr_err err = TR_ERR_INIT;

	CHECK(trigger_create(live, name, &owner, &err) == 0);
	return trigger_find(live, name, uid);
}

static void store(struct trigger *t, enum trigger_file what, const char *text, bool replace)
{
	struct tr_err err = TR_ERR_INIT;
	int ret = trigger_store(t, what, text, replace, &err);

	CHECK(ret == 0);
	if (ret)
		printf("# %s: %s\n", text, err.sentence);
}

/* A trigger with a condition and actions, switched on. */
static struct trigger *make(const char *name, const char *condition, const char *actions)
{
	struct trigger *t = make_for(name, getuid());

	CHECK(t != NULL);
	store(t, TRIGGER_CONDITION, condition, false);
	store(t, TRIGGER_ACTIONS, actions, true);
	store(t, TRIGGER_ENABLED, "1", false);
	return t;
}

static const char *shown(struct trigger *t, enum trigger_file what)
{
	static struct md_buf out;

	md_buf_deinit(&out);
	out = (struct md_buf)MD_BUF_INIT;
	trigger_show(t, what, &out);
	return md_buf_str(&out);
}

static bool shows(struct trigger *t, enum trigger_file what, const char *text)
{
	return strstr(shown(t, what), text);
}

/* Until `status` has the text: another thread brings it there. */
static bool comes(struct trigger *t, const char *text)
{
	for (int i = 0; i < 20000; i++) {
		if (shows(t, TRIGGER_STATUS, text))
			return true;
		usleep(1000);
	}
	printf("# no `%s` in:\n%s", text, shown(t, TRIGGER_STATUS));
	return false;
}

/* ---- hits ---- */

/* Of a watcher: other threads call it. */
static void note(void *arg)
{
	__atomic_fetch_add((unsigned *)arg, 1, __ATOMIC_RELAXED);
}

/* Reads the next notification, when there is one. */
static const char *next_notice(struct notices *n)
{
	static char line[2000];
	ssize_t got = -EAGAIN;

	for (int i = 0; i < 20000 && got == -EAGAIN; i++) {
		got = notices_read(n, line, sizeof(line) - 1);
		if (got == -EAGAIN)
			usleep(1000);
	}
	line[got > 0 ? got : 0] = 0;
	return line;
}

static void events(void)
{
	struct trigger *t = make("hits", "event user unit:work_begin if id > 0 capture id, path\n",
				 "notify\nnotify every 2\n");
	struct notices *text = NULL, *json = NULL;
	static unsigned calls;
	const char *line;

	CHECK(notices_open(t, false, &text) == 0 && notices_open(t, true, &json) == 0);
	notices_watch(json, &(struct notices_watcher){ note, note, &calls });
	CHECK(live_comes_on(1));
	CHECK(comes(t, "notifications_sent"));
	line = next_notice(text);
	CHECK(strstr(line, "hits") && strstr(line, "path"));
	line = next_notice(json);
	CHECK(line[0] == '{' && strstr(line, "\"path\":\"/p"));
	CHECK(__atomic_load_n(&calls, __ATOMIC_RELAXED) > 0);
	notices_close(text);
	notices_close(json);
	CHECK(shows(t, TRIGGER_CONDITION, "event user unit:work_begin if id > 0 capture id, path"));
	CHECK(shows(t, TRIGGER_ACTIONS, "notify every 2"));
	trigger_put(t);
}

static void actions(void)
{
	struct trigger *t = make("starts", "event user unit:note capture text\n",
				 "start a\nsnapshot a one once-after 1\nstop a every 1000000\n");

	CHECK(live_comes_on(4));
	CHECK(comes(t, "action 2 executed 1 failed 0 snapshot a one once-after 1"));
	store(t, TRIGGER_ACTIONS, "!start a\n", false);
	CHECK(!shows(t, TRIGGER_ACTIONS, "start a\n"));
	store(t, TRIGGER_ENABLED, "0", false);
	trigger_put(t);
}

/* Hits that execute no action are taken without a look at the events. */
static void rates(void)
{
	struct trigger *t = make("rare", "event user unit:note\n",
				 "notify every 50\nclear none every 50\n");
	unsigned long hits = 0;

	/* The first rounds may find the event on for the trigger before, which is off. */
	for (int i = 0; i < 20000 && hits < 200; i++) {
		live_round();
		hits = strtoul(strstr(shown(t, TRIGGER_STATUS), "\nhits ") + 6, NULL, 10);
		usleep(1000);
	}
	CHECK(hits >= 200);
	CHECK(comes(t, "action 1 executed 4 failed 0 notify every 50") || hits >= 250);
	trigger_put(t);
}

/* As many hits at once as nothing is known of but their number. */
static void hit(struct trigger *t, uint64_t n)
{
	pthread_mutex_lock(&triggers_of(live)->lock);
	trigger_hit_many(t, n, hit_time_now(live));
	pthread_mutex_unlock(&triggers_of(live)->lock);
	runners_wake(triggers_of(live));
}

/* Notifications are lost then, and most actions fail; a new open continues where another was. */
static void many_at_once(void)
{
	struct trigger *t = make("many", "session none started\n", "notify\nstart none\n");
	struct notices *first = NULL, *next = NULL;

	CHECK(notices_open(t, false, &first) == 0);
	CHECK(notices_number(first) == 0);
	hit(t, 100);
	CHECK(shows(t, TRIGGER_STATUS, "hits 100\n"));
	CHECK(shows(t, TRIGGER_STATUS, "action 1 executed 100 failed 0 notify\n"));
	/* What waits fails in the runner's thread: there is no such session. */
	CHECK(comes(t, "action 2 executed 0 failed 100 start none\n"));
	CHECK(notices_number(first) == 0);
	CHECK_STR(next_notice(first), "# many: 100 notifications lost\n");
	CHECK(notices_number(first) == 100);
	CHECK(notices_open(t, true, &next) == 0);
	notices_resume(next, 100);
	notices_resume(first, 100);
	CHECK(notices_number(next) == 100);
	notices_resume(next, 60);
	CHECK(notices_number(next) == 60);
	CHECK_STR(next_notice(next), "{\"trigger\":\"many\",\"lost\":40}\n");
	notices_close(first);
	notices_close(next);
	trigger_put(t);
}

static void sessions(void)
{
	struct trigger *t = make("stopped", "session b stopped\n", "notify\n");
	struct session *b = live_session("b");
	struct tr_err err = TR_ERR_INIT;

	CHECK(events_store(b, DOMAIN_USER, NULL, "unit:*\n", true, &err) == 0);
	live_control(b, "start\n");
	live_control(b, "stop\n");
	CHECK(comes(t, "hits 1"));
	session_put(b);
	trigger_put(t);
}

/* The channel's counts are looked at by a thread, each millisecond. */
static void amounts(void)
{
	struct trigger *t = make("much", "consumed c > 1\n", "notify\n");
	struct session *c = live_session("c");
	struct tr_err err = TR_ERR_INIT;

	CHECK(events_store(c, DOMAIN_USER, NULL, "unit:*\n", true, &err) == 0);
	CHECK(channel_store(c, DOMAIN_USER, "channel0", "monitor_period", "1ms", &err) == 0);
	live_control(c, "start\n");
	/* The first rounds may find the events on for the session before, which has stopped. */
	for (int i = 0; i < 20000 && !shows(t, TRIGGER_STATUS, "hits 1"); i++) {
		live_round();
		usleep(1000);
	}
	CHECK(shows(t, TRIGGER_STATUS, "hits 1"));
	live_control(c, "stop\n");
	session_put(c);
	trigger_put(t);
}

/* ---- files ---- */

static void mistakes(void)
{
	struct trigger *t = make_for("wrong", getuid());
	const struct owner me = { getuid(), getgid(), { 0 } };
	struct tr_err err = TR_ERR_INIT;
	enum trigger_file wrong;

	CHECK(trigger_store(t, TRIGGER_CONDITION, "evnt user x\n", false, &err) == -EINVAL);
	CHECK(trigger_store(t, TRIGGER_ACTIONS, "notfy\n", true, &err) == -EINVAL);
	CHECK(trigger_store(t, TRIGGER_ENABLED, "yes", false, &err) == -EINVAL);
	CHECK(trigger_load(t, "session x started\n", "start\n", true, &wrong, &err) == -EINVAL);
	CHECK(wrong == TRIGGER_ACTIONS);
	CHECK(trigger_load(t, "session x started\n", "start y\n", true, &wrong, &err) == 0);
	CHECK(shows(t, TRIGGER_CONDITION, "session x started"));
	CHECK(trigger_check_writer(t, "session x started", &me, false, &err) == 0);
	/* A write that the next daemon must not repeat. */
	session_write_begin(7001);
	CHECK(trigger_store(t, TRIGGER_ACTIONS, "stop y\n", false, &err) == 0);
	CHECK(session_write_end() == 7001);
	CHECK(trigger_write_done(t, 7001) && !trigger_write_done(t, 7002));
	CHECK(trigger_create(live, "wrong", &me, &err) == -EEXIST);
	CHECK(trigger_create(live, "name@1", &me, &err) == -EINVAL);
	CHECK(trigger_destroy(live, "none", getuid(), &err) == -ENOENT);
	trigger_put(t);
}

static bool lists(uid_t viewer, const char *name)
{
	struct md_buf names = MD_BUF_INIT;
	bool found = false;

	triggers_list(live, viewer, &names);
	for (const char *p = md_buf_str(&names), *end = p + names.len; p < end; p += strlen(p) + 1)
		found = found || !strcmp(p, name);
	md_buf_deinit(&names);
	return found;
}

/* Each user has names of his own, and sees what others share. */
static void names(void)
{
	struct trigger *t = make_for("mine", getuid() + 1);
	struct trigger_info info;
	char shared[64];

	snprintf(shared, sizeof(shared), "mine@%u", (unsigned)getuid() + 1);
	CHECK(lists(getuid() + 1, "mine") && !lists(getuid() + 2, shared));
	CHECK(trigger_chmod(t, 0755) == 0);
	CHECK(lists(getuid() + 2, shared));
	CHECK(trigger_chown(t, getuid() + 2, (gid_t)-1) == 0);
	trigger_info(t, &info);
	CHECK(info.uid == getuid() + 2 && info.mode == 0755);
	CHECK(lists(getuid() + 2, "mine"));
	trigger_put(t);
	t = trigger_get(live, info.serial);
	CHECK(t != NULL);
	trigger_put(t);
}

/* The next daemon has condition, actions and counters, and hits go on. */
static void next_daemon(void)
{
	struct tr_err err = TR_ERR_INIT;
	uint32_t count = triggers_count(live);
	struct trigger *t;

	session_put(s);
	tracer_close(live, true);
	CHECK(tracer_open(&live_config, &live, &err) == 0);
	CHECK(triggers_count(live) == count);
	s = session_get(live, "a");
	t = trigger_find(live, "stopped", getuid());
	CHECK(t && shows(t, TRIGGER_STATUS, "hits 1"));
	CHECK(t && shows(t, TRIGGER_CONDITION, "session b stopped"));
	CHECK(trigger_destroy(live, "stopped", getuid(), &err) == 0);
	CHECK(triggers_count(live) == count - 1);
	trigger_put(t);
	CHECK(trigger_find(live, "stopped", getuid()) == NULL);
}

int main(int argc, char **argv)
{
	struct tr_err err = TR_ERR_INIT;
	int ret;

	if (!live_open(argc, argv, &ret))
		return ret;
	alarm(300);
	s = live_session("a");
	CHECK(events_store(s, DOMAIN_USER, NULL, "unit:*\n", true, &err) == 0);
	CASE(events);
	CASE(actions);
	CASE(rates);
	CASE(many_at_once);
	CASE(sessions);
	CASE(amounts);
	CASE(mistakes);
	CASE(names);
	CASE(next_daemon);
	session_put(s);
	return live_close();
}
