// SPDX-License-Identifier: GPL-2.0-or-later
/* Sessions: life, control verbs, status, and what the views ask of them. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/facts.h"
#include "tracer/base/base.h"
#include "tracer/session/session.h"
#include "tracer/base/ring/reader.h"

#define SESSION_NAME_MAX 200

static struct session *session_find(struct tracer *t, const char *name)
{
	struct session *s;

	cds_list_for_each_entry(s, &t->sessions, node)
		if (!s->hidden && !strcmp(s->name, name))
			return s;
	return NULL;
}

struct session *session_alloc(struct tracer *t, const char *name, const struct owner *owner)
{
	struct session *s = calloc(1, sizeof(*s) + parts_size(t));

	if (!s)
		return NULL;
	s->refs = 1;            /* the list's, or the caller's */
	s->tracer = t;
	__atomic_fetch_add(&t->objects, 1, __ATOMIC_RELAXED);
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->uid = s->payer = owner->uid;
	s->gid = owner->gid;
	s->groups = owner->groups;
	s->mode = 0700;
	s->created = wall_clock();
	s->clock_offset = t->clock.offset;
	lock_init(&s->lock, NULL, LOCK_SESSION);
	lock_init(&s->shown_lock, NULL, LOCK_SHOWN);
	CDS_INIT_LIST_HEAD(&s->channels);
	session_create_parts(s);
	return s;
}

/* Adds the session to the table. Caller holds tracer.lock. NULL: no memory; s is freed then. */
static struct session *add_session(struct session *s)
{
	struct tracer *t = s->tracer;

	if (!quota_add(s)) {
		session_put(s);
		return NULL;
	}
	session_publish(s);
	pthread_mutex_lock(&t->lists_lock);
	cds_list_add_tail(&s->node, &t->sessions);
	t->session_count += !s->hidden;
	pthread_mutex_unlock(&t->lists_lock);
	return s;
}

static void remove_from_table(struct session *s)
{
	pthread_mutex_lock(&s->tracer->lists_lock);
	cds_list_del(&s->node);
	s->tracer->session_count -= !s->hidden;
	pthread_mutex_unlock(&s->tracer->lists_lock);
	quota_remove(s);
}

struct session *session_new(struct tracer *t, const char *name, const struct owner *owner)
{
	struct session *s = session_alloc(t, name, owner);

	return s ? add_session(s) : NULL;
}

struct session *session_new_hidden(struct tracer *t, const char *name, const struct owner *owner)
{
	struct session *s = session_alloc(t, name, owner);

	if (!s)
		return NULL;
	s->hidden = true;
	return add_session(s);
}

struct session *session_get(struct tracer *t, const char *name)
{
	struct session *s;

	pthread_mutex_lock(&t->lists_lock);
	s = session_find(t, name);
	if (s)
		session_ref(s);
	pthread_mutex_unlock(&t->lists_lock);
	return s;
}

struct session **sessions_take(struct tracer *t, size_t *count)
{
	struct session *s, **all;
	size_t n = 0;

	*count = 0;
	pthread_mutex_lock(&t->lists_lock);
	cds_list_for_each_entry(s, &t->sessions, node)
		n++;
	all = n ? calloc(n, sizeof(*all)) : NULL;
	if (all)
		cds_list_for_each_entry(s, &t->sessions, node)
			all[(*count)++] = session_ref(s);
	pthread_mutex_unlock(&t->lists_lock);
	return all;
}

int session_check_alive(const struct session *s, struct tr_err *err)
{
	return s->gone || s->ending ? tr_fail(err, -ENOENT, "the session is gone") : 0;
}

void session_changed(struct session *s)
{
	s->change++;
	if (s->draft)
		return;
	session_publish(s);
	tracer_changed(s->tracer, s->name);
	session_change_parts(s);
}

bool session_serves(const struct session *s, uid_t uid)
{
	return s->active && !s->gone && (s->uid == 0 || s->uid == uid);
}

bool session_tracks(const struct session *s, uint32_t pid, uid_t uid, gid_t gid)
{
	return track_has(&s->track[TRACK_VPID], pid) && track_has(&s->track[TRACK_VUID], uid) &&
	       track_has(&s->track[TRACK_VGID], gid);
}

/*
 * Makes the file that tells new applications to ask at their first hit, because a session is
 * active.
 */
static void mark_active(struct tracer *t)
{
	struct session *s;
	bool active = false, apart = false;
	int fd;

	cds_list_for_each_entry(s, &t->sessions, node) {
		active = active || s->active;
		apart = apart || (s->active && session_knows_apart(s));
	}
	if (!active) {
		unlinkat(t->state_fd, "active", 0);
		return;
	}
	fd = openat(t->state_fd, "active", O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
	/* Its size says whether a forked child has to ask for itself. */
	if (fd >= 0 && ftruncate(fd, apart))
		tracer_report(t, "the state directory: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
}

void session_apply(struct session *s)
{
	if (s->draft)
		return;
	mark_active(s->tracer);
	domains_apply(s);
	s->halting = false;
}

void session_forget(struct session *s)
{
	struct channel *c, *next;

	cds_list_for_each_entry_safe(c, next, &s->channels, node)
		if (!c->kchannel)
			channel_drop(c);
	remove_from_table(s);
}

void session_drop(struct session *s)
{
	struct channel *c, *next;

	s->gone = true;
	s->active = false;
	/* Before the keeper drops its buffers: the next daemon would say that they are lost. */
	session_unlist_on_disk(s);
	session_apply(s);
	cds_list_for_each_entry_safe(c, next, &s->channels, node)
		channel_drop(c);
	session_drop_parts(s, false);
	/* Views may hold references to the traces, but no event is added to them any more. */
	for (struct trace *t = s->traces; t; t = t->next) {
		if (t->log_fd >= 0)
			close(t->log_fd);
		t->log_fd = -1;
	}
	/* It stays in the table until then, so no new session uses its directory. */
	pthread_mutex_unlock(&s->tracer->lock);
	session_forget_on_disk(s);
	pthread_mutex_lock(&s->tracer->lock);
	remove_from_table(s);
}

/* A session with the defaults of the mount. NULL: no memory. */
static struct session *new_by_user(struct tracer *t, const char *name, const struct owner *owner)
{
	struct session *s = session_new(t, name, owner);

	if (s)
		s->is_ctf2 = t->config.ctf2;
	return s;
}

int session_create(struct tracer *t, const char *name, const struct owner *owner,
		   struct tr_err *err)
{
	struct session *s;
	int ret = name_check(name, SESSION_NAME_MAX, err);

	if (ret)
		return ret;
	pthread_mutex_lock(&t->lock);
	if (session_find(t, name))
		ret = tr_fail(err, -EEXIST, "there is a session '%s' already", name);
	else if (t->config.max_sessions && t->session_count >= t->config.max_sessions)
		ret = tr_fail(err, -ENOSPC, "no more than %u sessions", t->config.max_sessions);
	else if ((ret = quota_session(t, owner->uid, err)))
		;
	else if (!(s = new_by_user(t, name, owner)))
		ret = tr_fail(err, -ENOMEM, "out of memory");
	else if ((ret = session_save(s))) {
		tr_fail(err, ret, "the state directory cannot be written: %s", strerror(-ret));
		session_forget(s);      /* it is empty, and no other thread has seen it */
		session_put(s);
		/* The directory may exist without its file, if no descriptor was left. */
		unlinkat(t->sessions_fd, name, AT_REMOVEDIR);
	} else {
		tracer_changed(t, NULL);
	}
	pthread_mutex_unlock(&t->lock);
	return ret;
}

/*
 * Stops recording and lets each part finish, in reverse order, because a later part writes into an
 * earlier one. Caller holds session.lock and tracer.lock, which are released meanwhile, and has a
 * reference. It must check afterwards whether another thread removed the session.
 */
static void wind_up(struct session *s)
{
	const struct session_part *const *p = s->tracer->parts;

	if (!session_must_finish(s))
		return;
	s->ending = true;
	s->active = false;
	session_apply(s);
	session_unlock(s);
	domains_drain(s);
	while (*p)
		p++;
	while (p != s->tracer->parts)
		if ((*--p)->finish)
			UNLOCKED(s->tracer, (*p)->finish(s));
	session_lock(s);
}

void session_finish(struct session *s)
{
	session_lock(s);
	wind_up(s);
	session_unlock(s);
}

/*
 * Stops a session that will be removed. -errno: its buffers cannot be written, so the session
 * stays, and the user may free space and try again, or clear it. Releases both locks meanwhile;
 * the caller has a reference.
 */
static int stop_for_removal(struct session *s, struct tr_err *err)
{
	struct tr_err why = TR_ERR_INIT;
	int ret = 0;

	if (s->ending || !session_must_finish(s))
		return 0;
	s->active = false;
	session_apply(s);
	session_save(s);
	session_changed(s);
	session_unlock(s);
	domains_drain(s);
	ret = session_removable(s, &why);
	session_lock(s);
	return !ret ? 0 : tr_fail(err, ret,
				  "session '%s' has stopped, but what its buffers hold cannot be "
				  "written: %s; 'clear' discards it",
				  s->name, why.sentence);
}

static int no_session(const char *name, struct tr_err *err)
{
	return tr_fail(err, -ENOENT, "no session '%s'", name);
}

/* Caller holds session.lock and tracer.lock, and a reference. */
static int remove_session(struct session *s, struct tr_err *err)
{
	int ret = s->gone ? 0 : stop_for_removal(s, err);

	if (!ret && !s->gone)
		wind_up(s);
	/* Another thread may have removed it while the locks were released. */
	if (s->gone)
		return no_session(s->name, err);
	if (ret)
		return ret;
	session_drop(s);
	session_changed(s);
	tracer_changed(s->tracer, NULL);
	return 0;
}

int session_destroy(struct tracer *t, const char *name, struct tr_err *err)
{
	struct session *s = session_get(t, name);
	int ret;

	if (!s)
		return no_session(name, err);
	session_lock(s);
	ret = remove_session(s, err);
	session_unlock(s);
	domains_gc(t);
	parts_gc(t);
	if (!ret)
		session_put(s);         /* the list's reference */
	session_put(s);
	return ret;
}

void sessions_list(struct tracer *t, struct md_buf *names)
{
	struct session *s;

	pthread_mutex_lock(&t->lists_lock);
	cds_list_for_each_entry(s, &t->sessions, node)
		if (!s->hidden)
			md_buf_put(names, s->name, strlen(s->name) + 1);
	pthread_mutex_unlock(&t->lists_lock);
}

static int set_rights(struct session *s, mode_t mode, uid_t uid, gid_t gid)
{
	struct channel *c;
	int ret = 0;

	session_lock(s);
	if (s->gone) {
		ret = -ENOENT;
	} else {
		s->mode = mode == (mode_t)-1 ? s->mode : mode & 0777;
		s->gid = gid == (gid_t)-1 ? s->gid : gid;
		if (uid != (uid_t)-1) {
			quota_move(s, uid);
			s->groups = (struct owner_groups){ 0 };
			/*
			 * Applications of the former owner must attach again to learn of the
			 * change.
			 */
			cds_list_for_each_entry(c, &s->channels, node)
				c->epoch++;
			session_apply(s);
		}
		session_save(s);
		session_changed(s);
	}
	session_unlock(s);
	session_follow_parts(s);
	return ret;
}

int session_chmod(struct session *s, mode_t mode)
{
	return set_rights(s, mode, (uid_t)-1, (gid_t)-1);
}

int session_chown(struct session *s, uid_t uid, gid_t gid)
{
	return set_rights(s, (mode_t)-1, uid, gid);
}

/* ---- status ---- */

static void add_counts(const struct stream_set *set, struct ring_counts *sum)
{
	struct ring_counts c;

	for (size_t i = 0; i < set->count; i++) {
		ring_counts(&set->streams[i], &c);
		ring_counts_add(sum, &c);
	}
}

void session_counts(struct session *s, struct ring_counts *sum)
{
	struct stream_set set;

	session_streams(s, NULL, &set);
	add_counts(&set, sum);
	stream_set_deinit(&set);
}

static void show_state(const struct session *s, const struct ring_counts *sum, size_t streams,
		       struct facts *out)
{
	fact_text(out, "state", "%s", s->gone ? "gone" : s->active ? "active" : "inactive");
	fact_number(out, "owner", s->uid);
	fact_time(out, "started", s->started, s->started);
	fact_number(out, "events_recorded", sum->recorded);
	fact_number(out, "events_discarded", sum->discarded);
	fact_number(out, "events_overwritten", sum->overwritten);
	fact_number(out, "events_unfiltered", sum->unfiltered);
	fact_number(out, "bytes", sum->bytes);
	fact_number(out, "streams", streams);
}

void session_status(struct session *s, bool json, struct md_buf *text)
{
	struct facts facts = { .out = text, .json = json }, *out = &facts;
	struct ring_counts sum = { 0 };
	struct stream_set set;
	const struct channel *c;

	domains_drain(s);
	session_streams(s, NULL, &set);         /* none if memory is short */
	add_counts(&set, &sum);
	domains_check(s);
	pthread_mutex_lock(&s->tracer->lock);
	facts_begin(out);
	show_state(s, &sum, set.count, out);
	quota_status(s, out);
	fact_number(out, "buffers_refused",
		    __atomic_load_n(&s->buffers_refused, __ATOMIC_RELAXED));
	fact_number(out, "buffers_lost", __atomic_load_n(&s->buffers_lost, __ATOMIC_RELAXED));
	session_save_status(s, out);
	for_each_domain(d, s->tracer)
		if ((*d)->status)
			LOCKED(s->tracer, (*d)->status(s, out));
	for_each_part(p, s->tracer)
		if ((*p)->status)
			LOCKED(s->tracer, (*p)->status(s, out));
	cds_list_for_each_entry(c, &s->channels, node)
		if (c->blocking)
			fact_item(out, "blocking", "%s: " CHANNEL_BLOCKING_NOTE, c->name);
	pthread_mutex_unlock(&s->tracer->lock);
	streams_advise(&set, out);
	facts_end(out);
	stream_set_deinit(&set);
}

/* ---- functions for views ---- */

const struct clock *session_clock(struct session *s)
{
	static const struct clock never = { .stands = INT64_MAX };

	return s->times == TIMES_PLUGIN ? &never : &s->tracer->clock;
}

uint64_t session_clock_offset(const struct session *s)
{
	/* Times of an imported trace are those since the epoch. */
	if (__atomic_load_n(&s->input, __ATOMIC_RELAXED))
		return 0;
	return __atomic_load_n(&s->clock_offset, __ATOMIC_RELAXED);
}

int session_frozen(struct session *s, int64_t bytes)
{
	return quota_frozen(s, bytes);
}
