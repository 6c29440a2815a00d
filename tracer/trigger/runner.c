// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Executes actions on sessions, which may take a second: one thread for each owner of triggers, so
 * that no user waits for the actions of another. The thread exists while it has work, and some
 * seconds more. triggers.lock guards everything here; actions run without it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/os/slice.h"
#include "tracer/base/os/thread.h"
#include "tracer/session/streams.h"
#include "tracer/trigger/trigger.h"
#include "tracer/verb/verbs.h"

#define QUEUED_MAX 1024u                /* hits of one trigger that wait */
#define IDLE_SECONDS 10
#define SNAPSHOT_NUMBER_MAX 10000u

struct item {
	/* of the notifications after the first action: texts made at the hit */
	struct values values;
	struct md_buf text, json;
	struct cds_list_head node;
	struct trigger *trigger;        /* referenced */
	uint64_t hit, actions_version;
	size_t first;
	bool one;                       /* this action, whether it is due or not, and no other */
	struct session *halted;         /* by action `first`; referenced; NULL: none */
	struct hit_time time;
};

struct runner {
	struct cds_list_head node;      /* in triggers.runners */
	struct triggers *all;
	uid_t uid;
	struct cds_list_head items;
	bool busy;                      /* the thread executes an item */
	/* the one item, which begins with a stop; runners_halt has not seen it; NULL: none */
	struct item *stops;
	bool held;                      /* runners_halt uses the first item: the thread waits */
};

/* ---- one action ---- */

static int run_snapshot(struct session *s, const struct action *a, struct hit_time hit,
			struct tr_err *err)
{
	struct snapshot_request r = a->snapshot;
	int ret;

	/* A runner serves all triggers of its user: it waits for no relay, and not for `after`. */
	r.transient = true;
	r.at = hit.ts;
	r.event = hit.event;
	r.kernel = hit.kernel;
	ret = snapshot_take(s, &r, err);
	for (unsigned int n = 2; a->snapshot.name[0] && ret == -EEXIST && n < SNAPSHOT_NUMBER_MAX;
	     n++) {
		snprintf(r.name, sizeof(r.name), "%.180s-%u", a->snapshot.name, n);
		ret = snapshot_take(s, &r, err);
	}
	return ret;
}

/* Waits for a verb that runs. session_info() shows a halted session as active. */
static bool is_active(struct session *s)
{
	bool active;

	session_lock(s);
	active = s->active;
	session_unlock(s);
	return active;
}

static int run_start(struct session *s, const struct action *a, struct hit_time hit,
		     struct tr_err *err)
{
	(void)a, (void)hit;
	return is_active(s) ? 0 : session_control(s, "start", 0, err);
}

static int run_stop(struct session *s, const struct action *a, struct hit_time hit,
		    struct tr_err *err)
{
	(void)a, (void)hit;
	return is_active(s) ? session_control(s, "stop", 0, err) : 0;
}

static int run_rotate(struct session *s, const struct action *a, struct hit_time hit,
		      struct tr_err *err)
{
	(void)a, (void)hit;
	return session_control(s, "rotate", 0, err);
}

static int run_clear(struct session *s, const struct action *a, struct hit_time hit,
		     struct tr_err *err)
{
	(void)a, (void)hit;
	return session_control(s, "clear", 0, err);
}

static int run_increment(struct session *s, const struct action *a, struct hit_time hit,
			 struct tr_err *err)
{
	(void)hit;
	return map_increment(s, a->domain, a->map, a->key, a->waiting, err);
}

static int (*const run_kind[ACTION_KINDS])(struct session *s, const struct action *a,
					   struct hit_time hit, struct tr_err *err) = {
#define ACTION(kind, word, run) [ACTION_##kind] = run,
#include "tracer/trigger/actions.def"
};

/* Without lock. The action is a copy. */
static int execute(struct trigger *trigger, const struct action *a, struct hit_time hit,
		   struct tr_err *err)
{
	struct session *s = session_get(trigger->tracer, a->session);
	struct session_info info;
	int ret;

	if (!s)
		return tr_fail(err, -ENOENT, "no session '%s'", a->session);
	session_info(s, &info);
	if (trigger_may_now(trigger, &info, true))
		ret = run_kind[a->kind] ? run_kind[a->kind](s, a, hit, err) : 0;
	else
		ret = tr_fail(err, -EACCES,
			      "session '%s' is not the trigger owner's, and not shared",
			      a->session);
	session_put(s);
	return ret;
}

/* ---- the actions of one hit ---- */

static bool still_valid(const struct trigger *trigger, const struct item *it, size_t i)
{
	return !trigger->gone && !triggers_of(trigger->tracer)->closing &&
	       trigger->actions_version == it->actions_version && i < trigger->action_count;
}

/* Without lock. Halts the session of a `stop`; NULL: execute() has to do it all. */
static struct session *halt(struct trigger *trigger, const char *name)
{
	struct session *s = session_get(trigger->tracer, name);
	struct session_info info;

	if (!s)
		return NULL;
	session_info(s, &info);
	if (trigger_may_now(trigger, &info, true) && !session_halt(s))
		return s;
	session_put(s);
	return NULL;
}

/* Caller holds triggers.lock. Counts `hits` hits of the action as executed or as failed. */
static void count_result(struct trigger *trigger, const struct item *it, size_t i, uint64_t hits,
			 int ret, const struct tr_err *err)
{
	struct action *a = &trigger->actions[i];

	if (trigger->actions_version != it->actions_version || i >= trigger->action_count)
		return;
	if (!ret) {
		a->executed += hits;
	} else {
		a->failed += hits;
		snprintf(a->error, sizeof(a->error), "%s",
			 err->sentence[0] ? err->sentence : strerror(-ret));
	}
	counters_save(trigger);
	trigger_changed(trigger);
}

/* Locked; releases the lock while the action runs. */
static void run_action(struct trigger *trigger, const struct item *it, size_t i)
{
	struct triggers *all = triggers_of(trigger->tracer);
	struct tr_err err = TR_ERR_INIT;
	struct action copy = trigger->actions[i];
	uint64_t hits = it->one && copy.waiting ? copy.waiting : 1;
	int ret;

	if (it->one)
		trigger->actions[i].waiting = 0;
	copy.waiting = hits;
	copy.text = NULL;
	ret = snapshot_request_copy(&trigger->actions[i].snapshot, &copy.snapshot);
	pthread_mutex_unlock(&all->lock);
	if (ret)
		ret = tr_fail(&err, -ENOMEM, "out of memory");
	else
		ret = execute(trigger, &copy, it->time, &err);
	action_deinit(&copy);
	pthread_mutex_lock(&all->lock);
	count_result(trigger, it, i, hits, ret, &err);
}

/* Locked; releases the lock. Also for a trigger that is gone: the session is halted. */
static void end_stop(struct trigger *trigger, const struct item *it)
{
	struct triggers *all = triggers_of(trigger->tracer);
	struct tr_err err = TR_ERR_INIT;
	int ret;

	pthread_mutex_unlock(&all->lock);
	ret = session_halted(it->halted, &err);
	pthread_mutex_lock(&all->lock);
	count_result(trigger, it, it->first, 1, ret, &err);
}

static void run_item(const struct item *it)
{
	struct trigger *trigger = it->trigger;
	size_t i = it->first;

	if (it->halted) {
		end_stop(trigger, it);
		i++;
	} else if (it->one && still_valid(trigger, it, i)) {
		run_action(trigger, it, i);
	}
	for (; !it->one && still_valid(trigger, it, i); i++) {
		if (!action_due(&trigger->actions[i], it->hit))
			continue;
		if (trigger->actions[i].kind == ACTION_NOTIFY) {
			notices_send(trigger, it->time.wall, &it->values);
			trigger->actions[i].executed++;
			counters_save(trigger);
		} else {
			run_action(trigger, it, i);
		}
	}
	tracer_changed(trigger->tracer, trigger->name);
}

static void free_item(struct item *it)
{
	session_put(it->halted);
	md_buf_deinit(&it->text);
	md_buf_deinit(&it->json);
	free(it);
}

/* ---- the thread ---- */

/* Locked. False: it has been idle for long, or the daemon ends. */
static bool wait_for_work(struct runner *r)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += IDLE_SECONDS;
	while (r->held || (cds_list_empty(&r->items) && !r->all->closing))
		if (r->held)
			pthread_cond_wait(&r->all->runner_work, &r->all->lock);
		else if (pthread_cond_timedwait(&r->all->runner_work, &r->all->lock, &until) ==
				 ETIMEDOUT &&
			 cds_list_empty(&r->items))
			break;
	return !cds_list_empty(&r->items);
}

static void *run(void *arg)
{
	struct runner *r = arg;
	struct triggers *all = r->all;
	struct trigger *trigger;
	struct item *it;

	/* A program that a `stop` is for shall see it before this thread does the rest. */
	slice_defer();
	pthread_mutex_lock(&all->lock);
	while (wait_for_work(r)) {
		it = cds_list_first_entry(&r->items, struct item, node);
		cds_list_del(&it->node);
		trigger = it->trigger;
		r->stops = NULL;
		r->busy = true;
		run_item(it);
		r->busy = false;
		trigger->queued--;
		pthread_mutex_unlock(&all->lock);
		notices_serve(all);
		free_item(it);
		trigger_put(trigger);
		pthread_mutex_lock(&all->lock);
	}
	cds_list_del(&r->node);
	free(r);
	pthread_cond_broadcast(&all->runners_idle);
	pthread_mutex_unlock(&all->lock);
	return NULL;
}

/* Locked. The owner's runner, a new one if there is none; NULL: no memory or no thread. */
static struct runner *find_runner(struct triggers *all, uid_t uid)
{
	struct runner *r;

	cds_list_for_each_entry(r, &all->runners, node)
		if (r->uid == uid)
			return r;
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->all = all;
	r->uid = uid;
	CDS_INIT_LIST_HEAD(&r->items);
	if (thread_start(0, run, r)) {
		free(r);
		return NULL;
	}
	cds_list_add_tail(&r->node, &all->runners);
	return r;
}

static void print_item(const struct values *v, bool json, struct md_buf *out)
{
	const struct item *it = (const struct item *)v;
	const struct md_buf *from = json ? &it->json : &it->text;

	md_buf_put(out, from->data, from->len);
	out->failed = out->failed || from->failed;
}

/* Locked. */
static bool add(struct trigger *trigger, uint64_t hit, size_t first, struct hit_time time,
		const struct values *v)
{
	struct triggers *all = triggers_of(trigger->tracer);
	bool one_of_all = trigger->actions[first].kind == ACTION_INCREMENT && !v;
	bool refused = all->closing || (trigger->queued >= QUEUED_MAX && !one_of_all);
	struct runner *r = refused ? NULL : find_runner(all, trigger->uid);
	struct item *it = r ? calloc(1, sizeof(*it)) : NULL;

	if (!it)
		return false;
	*it = (struct item){
		.values = { print_item }, .trigger = trigger, .hit = hit, .first = first,
		.time = time, .actions_version = trigger->actions_version, .one = !v,
	};
	if (v && trigger->reader_count) {
		v->print(v, false, &it->text);
		v->print(v, true, &it->json);
	}
	trigger->refs++;
	trigger->queued++;
	if (trigger->actions[first].kind == ACTION_STOP && !r->busy && cds_list_empty(&r->items))
		r->stops = it;
	cds_list_add_tail(&it->node, &r->items);
	all->runners_due = true;
	return true;
}

bool runner_add(struct trigger *trigger, uint64_t hit, size_t first, struct hit_time time,
		const struct values *v)
{
	return add(trigger, hit, first, time, v);
}

bool runner_add_one(struct trigger *trigger, uint64_t hit, size_t i, struct hit_time time)
{
	return add(trigger, hit, i, time, NULL);
}

void runners_wake(struct triggers *all)
{
	bool due;

	pthread_mutex_lock(&all->lock);
	due = all->runners_due;
	all->runners_due = false;
	pthread_mutex_unlock(&all->lock);
	/* After the unlock: a runner may run at once on this CPU, and needs the lock. */
	if (due)
		pthread_cond_broadcast(&all->runner_work);
}

/* Locked. A runner whose first item runners_halt has not seen; NULL: none. */
static struct runner *find_stop(const struct triggers *all)
{
	struct runner *r;

	cds_list_for_each_entry(r, &all->runners, node)
		if (r->stops && !r->held)
			return r;
	return NULL;
}

void runners_halt(struct triggers *all)
{
	struct session *halted;
	struct trigger *trigger;
	struct item *it;
	struct runner *r;
	char name[sizeof(trigger->actions->session)];

	pthread_mutex_lock(&all->lock);
	while (all->runners_due && (r = find_stop(all))) {
		it = r->stops;
		trigger = it->trigger;  /* the item refers to it, and the runner leaves the item */
		r->stops = NULL;
		if (!still_valid(trigger, it, it->first))
			continue;
		r->held = true;
		memcpy(name, trigger->actions[it->first].session, sizeof(name));
		pthread_mutex_unlock(&all->lock);
		halted = halt(trigger, name);
		pthread_mutex_lock(&all->lock);
		it->halted = halted;
		r->held = false;
		all->runners_due = true;        /* another thread may have woken them meanwhile */
	}
	pthread_mutex_unlock(&all->lock);
	runners_wake(all);
}

void runners_start(struct triggers *all)
{
	CDS_INIT_LIST_HEAD(&all->runners);
	cond_init_monotonic(&all->runner_work);
	pthread_cond_init(&all->runners_idle, NULL);
}

void runners_end(struct triggers *all)
{
	pthread_cond_destroy(&all->runner_work);
	pthread_cond_destroy(&all->runners_idle);
}

void runners_stop(struct triggers *all)
{
	pthread_mutex_lock(&all->lock);
	pthread_cond_broadcast(&all->runner_work);
	while (!cds_list_empty(&all->runners))
		pthread_cond_wait(&all->runners_idle, &all->lock);
	pthread_mutex_unlock(&all->lock);
}
