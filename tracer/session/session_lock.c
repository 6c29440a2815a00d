// SPDX-License-Identifier: GPL-2.0-or-later
/* The locks and the references that an operation on a session holds. */
#include <stdlib.h>

#include "tracer/session/session.h"

void session_lock(struct session *s)
{
	pthread_mutex_lock(&s->lock);
	pthread_mutex_lock(&s->tracer->lock);
}

void session_publish(struct session *s)
{
	struct session_shown shown = {
		.info = {
			.uid = s->uid,
			.gid = s->gid,
			.groups = s->groups,
			.mode = s->mode,
			.active = s->active || s->halting,
			.gone = s->gone,
			.starts = s->starts,
			.change = s->change,
			.created = s->created,
			.started = s->started,
			.rotate_size = s->rotate_size,
			.rotate_period = s->rotate_period,
		},
		.imported = s->input != NULL,
		.written = s->output,
		.files = s->output && !s->streamed,
		.follows = s->streamed && s->live_period,
	};

	pthread_mutex_lock(&s->shown_lock);
	s->shown = shown;
	pthread_mutex_unlock(&s->shown_lock);
}

struct session_shown session_shown(struct session *s)
{
	struct session_shown shown;

	pthread_mutex_lock(&s->shown_lock);
	shown = s->shown;
	pthread_mutex_unlock(&s->shown_lock);
	return shown;
}

void session_info(struct session *s, struct session_info *info)
{
	*info = session_shown(s).info;
}

void session_unlock(struct session *s)
{
	session_publish(s);
	pthread_mutex_unlock(&s->tracer->lock);
	pthread_mutex_unlock(&s->lock);
}

struct session *session_ref(struct session *s)
{
	__atomic_fetch_add(&s->refs, 1, __ATOMIC_RELAXED);
	return s;
}

void session_put(struct session *s)
{
	struct tracer *tracer;

	/*
	 * Release pairs with acquire: the last holder sees the writes of all others before it
	 * frees.
	 */
	if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL))
		return;
	tracer = s->tracer;
	for_each_part(p, s->tracer)
		if ((*p)->destroy)
			(*p)->destroy(s);
	for (int i = 0; i < TRACK_ATTRS; i++)
		track_deinit(&s->track[i]);
	while (s->traces) {
		struct trace *t = s->traces;

		s->traces = t->next;
		trace_put(t);
	}
	pthread_mutex_destroy(&s->shown_lock);
	pthread_mutex_destroy(&s->lock);
	free(s);
	/* Pairs with the acquire in tracer_close: nothing of the tracer is used after this. */
	__atomic_fetch_sub(&tracer->objects, 1, __ATOMIC_RELEASE);
}

/* ---- the lock state of hooks: lock_check.h ---- */

#ifdef LOCKS_CHECKED

static void check(const pthread_mutex_t *lock, bool held, const char *name, const char *hook)
{
	if (lock_held(lock) == held)
		return;
	lock_broken("%s is called with %s %s", hook, name, held ? "not held" : "held");
}

void lock_check(const struct tracer *t, bool held, const char *hook)
{
	/* A tracer that only reads a state directory has one thread, and needs no lock. */
	if (!t->reading)
		check(&t->lock, held, "tracer.lock", hook);
}

void lock_check_session(const struct session *s, const char *hook)
{
	if (!s->tracer->reading)
		check(&s->lock, true, "session.lock", hook);
}

#endif
