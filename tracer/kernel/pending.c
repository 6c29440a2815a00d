// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rules that wait for their events (`?PATTERN`): of a module that is not loaded, of another
 * program, or in a file that is not installed yet. While there is such a rule, a thread looks each
 * second at what such events come from: the kernel's list of events, its list of modules, and the
 * files that the rules name. When one of these has changed, the rules are applied again. The same
 * thread looks for threads that have joined the control groups of an active session's track/cgroup.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "tracer/base/array.h"
#include "tracer/base/hash.h"
#include "tracer/base/os/thread.h"
#include "tracer/base/probe/probe.h"
#include "tracer/kernel/kernel.h"
#include "tracer/session/streams.h"

struct waiting {                        /* sessions with rules that wait */
	struct session **sessions;      /* referenced */
	size_t count;
	struct md_buf files;            /* of their rules, each with a NUL */
};

static bool waits(const struct channel *c, const struct rule *r)
{
	return c->kernel && r->optional && !r->disabled;
}

/* Whether the session has such a rule. Adds the files of all. Caller holds tracer.lock. */
static bool look_at(const struct session *s, struct md_buf *files)
{
	const struct channel *c;
	bool some = false;

	cds_list_for_each_entry(c, &s->channels, node)
		for (size_t i = 0; i < c->rules.count; i++)
			if (waits(c, &c->rules.rules[i])) {
				some = true;
				if (files && c->rules.rules[i].file)
					md_buf_put(files, c->rules.rules[i].file,
						   strlen(c->rules.rules[i].file) + 1);
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
		if (look_at(s, &w->files) && array_room(w->sessions, w->count + 1))
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

/* A number that changes when an event may have appeared or gone. */
static uint64_t hash_world(struct kernel *k, const struct md_buf *files)
{
	struct md_buf list = MD_BUF_INIT;
	uint64_t h = hash_modules(HASH_START);

	if (!k->ops->list(k->backend, &list) && !list.failed)
		h = hash_string(h, md_buf_str(&list));
	md_buf_deinit(&list);
	for (size_t at = 0; at < files->len; at += strlen(files->data + at) + 1)
		h = hash_file(h, files->data + at);
	return h;
}

static void apply_again(struct session *s)
{
	struct md_buf names = MD_BUF_INIT;

	channels_list(s, DOMAIN_KERNEL, &names);
	for (size_t at = 0; !names.failed && at < names.len; at += strlen(names.data + at) + 1)
		events_again(s, DOMAIN_KERNEL, names.data + at);
	md_buf_deinit(&names);
}

static void look(struct tracer *t, uint64_t *last)
{
	struct waiting w = { 0 };
	uint64_t now;

	collect(t, &w);
	/* Only for rules that wait: it reads the list of all events. */
	now = w.count ? hash_world(kernel_of(t), &w.files) : *last;
	for (size_t i = 0; i < w.count; i++) {
		if (now != *last)
			apply_again(w.sessions[i]);
		session_put(w.sessions[i]);
	}
	*last = now;
	free(w.sessions);
	md_buf_deinit(&w.files);
}

/* Whether the rules have to be applied again for threads that joined. */
static bool follow_session(struct tracer *t, struct session *s)
{
	struct channel *c;
	bool again = false;

	/* Another thread changes the session: the next look is soon. */
	if (pthread_mutex_trylock(&s->lock))
		return false;
	cds_list_for_each_entry(c, &s->channels, node)
		if (s->active && has_cgroups(s) && c->kchannel && c->kchannel->bc)
			again |= kchannel_follow_cgroups(c->kchannel, kernel_of(t));
	pthread_mutex_unlock(&s->lock);
	return again;
}

static void follow_cgroups(struct tracer *t)
{
	struct session **all, *s;
	size_t count;

	all = sessions_take(t, &count);
	for (size_t i = 0; i < count; i++) {
		s = all[i];
		if (follow_session(t, s))
			apply_again(s);
		session_put(s);
	}
	free(all);
}

/* Waits a second, or until the daemon ends. Caller holds tracer.lock. */
static void pause_looking(struct tracer *t)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec++;
	while (!kernel_of(t)->ending &&
	       !pthread_cond_timedwait(&kernel_of(t)->dumped, &t->lock, &until))
		;
}

static void *run(void *arg)
{
	struct tracer *t = arg;
	struct kernel *k = kernel_of(t);
	uint64_t last = 0;      /* looks at least once: an event may have come before the thread */

	pthread_mutex_lock(&t->lock);
	while (!k->ending && any_waits(t)) {
		pause_looking(t);
		if (k->ending)
			break;
		pthread_mutex_unlock(&t->lock);
		look(t, &last);
		follow_cgroups(t);
		pthread_mutex_lock(&t->lock);
	}
	k->watching = false;
	pthread_cond_broadcast(&k->dumped);
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

void kernel_watch_pending(struct tracer *t)
{
	struct kernel *k = kernel_of(t);
	sigset_t all, before;

	if (!k)
		return;
	/* Signals are for the daemon's first thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_mutex_lock(&t->lock);
	if (!k->watching && !k->ending && any_waits(t))
		k->watching = thread_start(0, run, t) == 0;
	pthread_mutex_unlock(&t->lock);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
