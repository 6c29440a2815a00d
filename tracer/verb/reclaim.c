// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory of buffers that is given back: the verb `reclaim`, and a thread for channels whose
 * memory_max_age says when. The thread exists once a channel says so.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/base.h"
#include "tracer/base/lexer.h"
#include "tracer/base/os/watcher.h"
#include "tracer/base/ring/reader.h"
#include "tracer/session/session.h"
#include "tracer/verb/reclaim.h"

#define PERIOD_MIN UINT64_C(100000000)  /* ns between two looks */
#define PERIOD_MAX UINT64_C(2000000000)

struct reclaimer {
	pthread_mutex_t lock;           /* of the watcher; taken inside tracer.lock */
	struct watcher watcher;
};

static struct reclaimer *reclaimer_of(const struct tracer *t)
{
	return tracer_data(t, &reclaim_room);
}

/* What the channels of a session want. us, as channel.max_age. */
static uint64_t age_of(struct session *s, const struct stream *st)
{
	bool kernel = st->trace->uid == KERNEL_UID;
	struct channel *c;
	uint64_t age = 0;

	pthread_mutex_lock(&s->tracer->lock);
	c = channel_find(s, kernel ? DOMAIN_KERNEL : DOMAIN_USER, st->channel);
	if (c)
		age = c->max_age;
	pthread_mutex_unlock(&s->tracer->lock);
	return age;
}

/* age: us, or MAX_AGE_CONSUMED. */
static void reclaim_stream(struct session *s, const struct stream *st, uint64_t age)
{
	/* The times of a plug-in's clock are not ours. */
	bool timed = s->times != TIMES_PLUGIN;
	uint64_t now = clock_now(session_clock(s));
	bool idle = !timed || ring_is_idle(st, now);

	if (age == MAX_AGE_CONSUMED)
		ring_reclaim(st, 0, idle);
	else if (timed && age < now / 1000)
		ring_reclaim(st, now - age * 1000, idle);
}

/* age 0: as each channel has it. */
static void reclaim(struct session *s, uint64_t age)
{
	struct stream_set set;
	uint64_t own;

	if (session_rings(s, &set))
		return;
	for (size_t i = 0; i < set.count; i++) {
		own = age ? age : age_of(s, &set.streams[i]);
		if (own)
			reclaim_stream(s, &set.streams[i], own);
	}
	stream_set_deinit(&set);
}

/* older-than TIME, from byte `at` on. 0 or -EINVAL with a sentence. */
static int parse_age(const char *words, size_t at, uint64_t *age, struct tr_err *err)
{
	struct scan *s = SCAN(words, at, err);
	struct word w = { 0 };
	int ret = scan_word(s, false, &w);

	if (!ret && !word_is(&w, "older-than"))
		ret = scan_fail(s, (size_t)word_column(&w, 0),
				"not expected here; 'reclaim older-than TIME' has an age");
	if (!ret) {
		scan_blanks(s);
		at = s->at;
		ret = scan_word(s, false, &w);
	}
	if (!ret && (units_time(word_text(&w), age, NULL) || !*age || *age == UINT64_MAX))
		ret = scan_fail(s, at, "expected a time, such as 10s");
	scan_blanks(s);
	if (!ret && !scan_at_end(s))
		ret = scan_fail(s, s->at, "nothing follows the time");
	word_deinit(&w);
	return ret;
}

/* ---- the thread ---- */

/* ns until the next look at the session; 0: never. Caller holds tracer.lock. */
static uint64_t period_of(const struct session *s)
{
	uint64_t period = 0, own;
	const struct channel *c;

	cds_list_for_each_entry(c, &s->channels, node) {
		if (!c->max_age)
			continue;
		own = c->max_age < PERIOD_MAX / 250 ? c->max_age * 250 : PERIOD_MAX / 2;
		own = own < PERIOD_MIN ? PERIOD_MIN : own;
		period = !period || own < period ? own : period;
	}
	return period;
}

/* Looks at all sessions. Returns the ns until the next look; 0: no channel wants one. */
static uint64_t look(struct tracer *t)
{
	uint64_t period = 0, own;
	struct session **all;
	size_t count;

	all = sessions_take(t, &count);
	for (size_t i = 0; i < count; i++) {
		pthread_mutex_lock(&t->lock);
		own = all[i]->hidden || all[i]->gone ? 0 : period_of(all[i]);
		pthread_mutex_unlock(&t->lock);
		if (own)
			reclaim(all[i], 0);
		period = own && (!period || own < period) ? own : period;
		session_put(all[i]);
	}
	free(all);
	return period;
}

static void *run(void *arg)
{
	struct tracer *t = arg;
	struct watcher *w = &reclaimer_of(t)->watcher;
	uint64_t period;

	while (watcher_next(w)) {
		period = look(t);
		watcher_sleep(w, -1, period ? monotonic_now() + period : WATCHER_NEVER);
	}
	return NULL;
}

/* Caller holds tracer.lock. */
static void follow_session(struct session *s)
{
	struct reclaimer *r = reclaimer_of(s->tracer);
	int ret;

	if (s->hidden || s->draft || !period_of(s))
		return;
	pthread_mutex_lock(&r->lock);
	ret = watcher_start(&r->watcher, run, s->tracer);
	watcher_nudge(&r->watcher);
	pthread_mutex_unlock(&r->lock);
	if (ret)
		tracer_report(s->tracer, "no thread for memory_max_age: memory is not given back: "
					 "%s", strerror(-ret));
}

static void follow_unlocked(struct session *s)
{
	pthread_mutex_lock(&s->tracer->lock);
	follow_session(s);
	pthread_mutex_unlock(&s->tracer->lock);
}

static int check_reclaim(const char *words, size_t at, struct tr_err *err)
{
	uint64_t age;

	return parse_age(words, at, &age, err);
}

/*
 * What was read or cleared; with an age (us), of that, and of what a flight recorder holds, what is
 * older. It takes 1 ms for some MiB: runs without both locks.
 */
static int run_reclaim(struct session *s, const struct verb_line *line, struct tr_err *err)
{
	uint64_t age = 0;
	int ret = line->arg ? parse_age(line->arg, 0, &age, err) : 0;

	if (ret)
		return ret;
	session_unlock(s);
	reclaim(s, age ? age : MAX_AGE_CONSUMED);
	session_lock(s);
	return 0;
}

const struct session_verb reclaim_verb = {
	.name = "reclaim", .arguments = " [older-than TIME]",
	.when_active = true, .when_inactive = true, .check = check_reclaim, .run = run_reclaim,
};

const struct session_part reclaim_part = {
	.name = "memory",
	.follow = follow_unlocked,
	.changed = follow_session,
};

static void create_reclaimer(struct tracer *t)
{
	pthread_mutex_init(&reclaimer_of(t)->lock, NULL);
}

static void destroy_reclaimer(struct tracer *t)
{
	pthread_mutex_destroy(&reclaimer_of(t)->lock);
}

const struct tracer_room reclaim_room = {
	sizeof(struct reclaimer), create_reclaimer, destroy_reclaimer
};

void reclaimer_stop(struct tracer *t)
{
	struct reclaimer *r = reclaimer_of(t);

	watcher_end(&r->watcher, &r->lock);
}
