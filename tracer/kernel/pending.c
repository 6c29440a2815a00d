// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rules that wait for their events (`?PATTERN`): of a module that is not loaded, of another
 * program, or in a file that is not installed yet. While there is such a rule, a watcher looks each
 * second at what such events come from: the kernel's list of events, its list of modules, and the
 * files that the rules name. When one of these has changed, or there are other rules, the rules are
 * applied again. If that fails, nothing need change before it succeeds (another program may have
 * been about to change the kernel's probes, or memory was short): they are applied again after
 * pauses that grow. The same watcher looks for threads that have joined the control groups of an
 * active session's track/cgroup. If the kernel refused a rule when they joined, no user has written
 * a rule that failed, and no other thread need join: such rules are applied after pauses, too.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tracer/base/array.h"
#include "tracer/base/hash.h"
#include "tracer/base/os/clock.h"
#include "tracer/base/probe/probe.h"
#include "tracer/kernel/kernel.h"
#include "tracer/session/streams.h"

#define PERIOD UINT64_C(1000000000)     /* ns between two looks */
#define PAUSE_MAX (64 * PERIOD)         /* until what failed is tried again */

struct waiting {                        /* sessions with rules that wait */
	struct session **sessions;      /* referenced */
	size_t count;
	struct md_buf files;            /* of their rules, each with a NUL */
	uint64_t rules;                 /* a number that changes with them */
};

struct retry {
	uint64_t again; /* when what failed is tried again; WATCHER_NEVER: nothing failed */
	uint64_t pause; /* until then, ns */
};

/* What the watcher knows from its last look. */
struct looked {
	uint64_t world; /* of hash_world */
	struct retry waiting, joined;
};

static bool waits(const struct channel *c, const struct rule *r)
{
	return c->kernel && r->optional && !r->disabled;
}

/* Whether the session has such a rule. Adds all of them to w. Caller holds tracer.lock. */
static bool look_at(const struct session *s, struct waiting *w)
{
	const struct channel *c;
	bool some = false;

	cds_list_for_each_entry(c, &s->channels, node)
		for (size_t i = 0; i < c->rules.count; i++) {
			const struct rule *r = &c->rules.rules[i];

			if (!waits(c, r))
				continue;
			some = true;
			if (w)
				w->rules = hash_string(hash_step(w->rules, c->serial), r->source);
			if (w && r->file)
				md_buf_put(&w->files, r->file, strlen(r->file) + 1);
		}
	return some;
}

static bool has_cgroups(const struct session *s)
{
	return s->track[TRACK_KERNEL_CGROUP].count;
}

static bool any_waits(const struct tracer *t)
{
	const struct session *s;

	cds_list_for_each_entry(s, &t->sessions, node)
		if (look_at(s, NULL) || has_cgroups(s))
			return true;
	return false;
}

static void collect(struct tracer *t, struct waiting *w)
{
	struct session *s;

	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry(s, &t->sessions, node)
		if (look_at(s, w) && array_room(w->sessions, w->count + 1))
			w->sessions[w->count++] = session_ref(s);
	pthread_mutex_unlock(&t->lock);
}

static uint64_t hash_file(uint64_t h, const char *path)
{
	struct stat st = { 0 };

	if (stat(path, &st))
		return hash_step(h, 1);
	h = hash_step(h, st.st_ino);
	h = hash_step(h, (uint64_t)st.st_size);
	return hash_step(h, (uint64_t)st.st_mtim.tv_sec * 1000000000u +
				    (uint64_t)st.st_mtim.tv_nsec);
}

/*
 * A module that was unloaded and loaded again since the last look has its name and its events as
 * before, but they are not enabled. Its directory in sysfs is another one (kernfs numbers them).
 */
static uint64_t hash_modules(uint64_t h)
{
	char line[1024], path[1100];
	FILE *f = fopen("/proc/modules", "re");
	struct stat st;

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, " ")] = 0;
		h = hash_string(h, line);
		snprintf(path, sizeof(path), "/sys/module/%s", line);
		if (!stat(path, &st))
			h = hash_step(h, st.st_ino);
	}
	if (f)
		fclose(f);
	return h;
}

/* A number that changes when an event may have appeared or gone, or other rules wait. */
static uint64_t hash_world(struct kernel *k, const struct waiting *w)
{
	struct md_buf list = MD_BUF_INIT;
	uint64_t h = hash_modules(w->rules);

	if (!k->ops->list(k->backend, &list) && !list.failed)
		h = hash_string(h, md_buf_str(&list));
	md_buf_deinit(&list);
	for (size_t at = 0; at < w->files.len; at += strlen(w->files.data + at) + 1)
		h = hash_file(h, w->files.data + at);
	return h;
}

/* Whether the rules are in force. */
static bool apply_again(struct session *s)
{
	struct md_buf names = MD_BUF_INIT;
	bool done;

	channels_list(s, DOMAIN_KERNEL, &names);
	done = !names.failed;
	for (size_t at = 0; !names.failed && at < names.len; at += strlen(names.data + at) + 1)
		done &= !events_again(s, DOMAIN_KERNEL, names.data + at);
	md_buf_deinit(&names);
	return done;
}

static bool is_due(const struct retry *r)
{
	return monotonic_now() >= r->again;
}

static void retry_later(struct retry *r)
{
	r->again = monotonic_now() + r->pause;
	r->pause = 2 * r->pause < PAUSE_MAX ? 2 * r->pause : PAUSE_MAX;
}

static void retry_none(struct retry *r)
{
	*r = (struct retry){ .again = WATCHER_NEVER, .pause = PERIOD };
}

static void apply_all(const struct waiting *w, struct retry *r)
{
	bool done = true;

	for (size_t i = 0; i < w->count; i++)
		done &= apply_again(w->sessions[i]);
	if (done)
		retry_none(r);
	else
		retry_later(r);
}

static void look(struct tracer *t, struct looked *last)
{
	struct waiting w = { .files = MD_BUF_INIT, .rules = HASH_START };
	uint64_t now = 0;

	collect(t, &w);
	/* Only for rules that wait: it reads the list of all events. */
	if (w.count)
		now = hash_world(kernel_of(t), &w);
	if (now != last->world)
		retry_none(&last->waiting);
	if (now != last->world || is_due(&last->waiting))
		apply_all(&w, &last->waiting);
	last->world = now;
	for (size_t i = 0; i < w.count; i++)
		session_put(w.sessions[i]);
	free(w.sessions);
	md_buf_deinit(&w.files);
}

/* Whether the kernel refused a rule. A recording that another program has stopped stays so. */
static bool is_refused(const struct channel *c)
{
	pthread_mutex_t *lock = &c->session->tracer->lock;
	int error;

	pthread_mutex_lock(lock);
	error = c->kchannel->error;
	pthread_mutex_unlock(lock);
	return error && error != -ESHUTDOWN;
}

/*
 * Whether the rules have to be applied again for threads that joined; with retry, also because they
 * were refused. Clears *seen if the session cannot be looked at now.
 */
static bool follow_session(struct tracer *t, struct session *s, bool retry, bool *seen)
{
	struct channel *c;
	bool again = false;

	/* Another thread changes the session: the next look is soon. */
	if (pthread_mutex_trylock(&s->lock)) {
		*seen = false;
		return false;
	}
	cds_list_for_each_entry(c, &s->channels, node)
		if (s->active && has_cgroups(s) && c->kchannel && c->kchannel->bc)
			again |= kchannel_follow_cgroups(c->kchannel, kernel_of(t)) ||
				 (retry && is_refused(c));
	pthread_mutex_unlock(&s->lock);
	return again;
}

static void follow_cgroups(struct tracer *t, struct retry *r)
{
	bool retry = is_due(r), done = true, seen = true;
	struct session **all, *s;
	size_t count;

	all = sessions_take(t, &count);
	for (size_t i = 0; i < count; i++) {
		s = all[i];
		if (follow_session(t, s, retry, &seen))
			done &= apply_again(s);
		session_put(s);
	}
	free(all);
	if (!done)
		retry_later(r);
	else if (retry && seen)
		retry_none(r);
	/* Else what is due stays so, for a session that was not seen. */
}

static void *run(void *arg)
{
	struct tracer *t = arg;
	struct watcher *w = &kernel_of(t)->pending;
	struct looked last = { 0 };
	bool some;

	retry_none(&last.waiting);
	retry_none(&last.joined);
	while (watcher_next(w)) {
		pthread_mutex_lock(&t->lock);
		some = any_waits(t);
		pthread_mutex_unlock(&t->lock);
		if (some) {
			look(t, &last);
			follow_cgroups(t, &last.joined);
		}
		watcher_sleep(w, -1, some ? monotonic_now() + PERIOD : WATCHER_NEVER);
	}
	return NULL;
}

void kernel_pending_update(struct tracer *t)
{
	struct kernel *k = kernel_of(t);
	int ret = 0;

	if (!k)
		return;
	pthread_mutex_lock(&t->lock);
	if (any_waits(t)) {
		ret = watcher_start(&k->pending, run, t);
		watcher_nudge(&k->pending);
	}
	pthread_mutex_unlock(&t->lock);
	if (ret)
		tracer_report(t, "no thread for rules that wait for their events, and for threads "
				 "that join control groups: %s", strerror(-ret));
}

void kernel_pending_end(struct tracer *t)
{
	if (kernel_of(t))
		watcher_end(&kernel_of(t)->pending, &t->lock);
}
