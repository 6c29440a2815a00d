// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sessions: life, control verbs, status, and what the views ask of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/base.h"
#include "tracer/base/timefmt.h"
#include "tracer/session/session.h"
#include "tracer/ring/reader.h"

#define SESSION_NAME_MAX 200

static struct session *session_find(struct tracer *t, const char *name)
{
	struct session *s;

	cds_list_for_each_entry(s, &t->sessions, node)
		if (!s->hidden && !strcmp(s->name, name))
			return s;
	return NULL;
}

struct session *session_alloc(struct tracer *t, const char *name, uid_t uid, gid_t gid)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->refs = 1;            /* the list's, or the caller's */
	s->tracer = t;
	__atomic_fetch_add(&t->objects, 1, __ATOMIC_RELAXED);
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->uid = s->payer = uid;
	s->gid = gid;
	s->mode = 0700;
	s->created = wall_clock();
	s->clock_offset = t->clock.offset;
	lock_init(&s->lock, NULL, LOCK_SESSION);
	CDS_INIT_LIST_HEAD(&s->channels);
	CDS_INIT_LIST_HEAD(&s->snapshots);
	return s;
}

struct session *session_new(struct tracer *t, const char *name, uid_t uid, gid_t gid)
{
	struct session *s = session_alloc(t, name, uid, gid);

	if (!s)
		return NULL;
	if (!quota_add(s)) {
		session_put(s);
		return NULL;
	}
	cds_list_add_tail(&s->node, &t->sessions);
	t->session_count++;
	return s;
}

struct session *session_new_hidden(struct tracer *t, const char *prefix, uint64_t number, uid_t uid,
				   gid_t gid)
{
	char name[64];
	struct session *s;

	snprintf(name, sizeof(name), "%s%" PRIu64, prefix, number);
	s = session_alloc(t, name, uid, gid);
	if (!s)
		return NULL;
	s->hidden = true;
	if (!quota_add(s)) {
		session_put(s);
		return NULL;
	}
	cds_list_add_tail(&s->node, &t->sessions);
	return s;
}

struct session *session_get(struct tracer *t, const char *name)
{
	struct session *s;

	pthread_mutex_lock(&t->lock);
	s = session_find(t, name);
	if (s)
		session_ref(s);
	pthread_mutex_unlock(&t->lock);
	return s;
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
	bool active = false;
	int fd;

	cds_list_for_each_entry(s, &t->sessions, node)
		active = active || s->active;
	if (!active) {
		unlinkat(t->state_fd, "active", 0);
		return;
	}
	fd = openat(t->state_fd, "active", O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd >= 0)
		close(fd);
}

void session_apply(struct session *s)
{
	if (s->draft)
		return;
	mark_active(s->tracer);
	domains_apply(s);
}

void session_forget(struct session *s)
{
	struct channel *c, *next;

	cds_list_for_each_entry_safe(c, next, &s->channels, node)
		if (!c->kchannel)
			channel_drop(c);
	cds_list_del(&s->node);
	s->tracer->session_count -= !s->hidden;
	quota_remove(s);
}

void session_drop(struct session *s)
{
	struct channel *c, *next;

	s->gone = true;
	s->active = false;
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
	cds_list_del(&s->node);
	s->tracer->session_count -= !s->hidden;
	quota_remove(s);
}

int session_create(struct tracer *t, const char *name, uid_t uid, gid_t gid, struct tr_err *err)
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
	else if ((ret = quota_session(t, uid, err)))
		;
	else if (!(s = session_new(t, name, uid, gid)))
		ret = tr_fail(err, -ENOMEM, "out of memory");
	else if ((ret = session_save(s))) {
		tr_fail(err, ret, "the state directory cannot be written");
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
	int ret = 0;

	if (s->ending || !session_must_finish(s))
		return 0;
	s->active = false;
	session_apply(s);
	session_save(s);
	session_changed(s);
	session_unlock(s);
	domains_drain(s);
	ret = session_stop_parts(s);
	session_lock(s);
	return ret ? tr_fail(err, ret,
			     "session '%s' has stopped, but what its buffers hold cannot be "
			     "written: %s; 'clear' discards it",
			     s->name, strerror(-ret))
		   : 0;
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
	session_forget_on_disk(s);
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

	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry(s, &t->sessions, node)
		if (!s->hidden)
			md_buf_put(names, s->name, strlen(s->name) + 1);
	pthread_mutex_unlock(&t->lock);
}

void session_info(struct session *s, struct session_info *info)
{
	pthread_mutex_lock(&s->tracer->lock);
	*info = (struct session_info){
		.uid = s->uid,
		.gid = s->gid,
		.mode = s->mode,
		.active = s->active,
		.gone = s->gone,
		.starts = s->starts,
		.change = s->change,
		.created = s->created,
		.rotate_size = s->rotate_size,
		.rotate_period = s->rotate_period,
	};
	pthread_mutex_unlock(&s->tracer->lock);
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
		if (uid != (uid_t)-1)
			quota_move(s, uid);
		s->gid = gid == (gid_t)-1 ? s->gid : gid;
		if (uid != (uid_t)-1) {
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

int session_store_number(struct session *s, uint64_t *setting, uint64_t value, struct tr_err *err)
{
	int ret = 0;

	session_lock(s);
	if (s->gone) {
		ret = tr_fail(err, -ENOENT, "the session is gone");
	} else {
		*setting = value;
		session_save(s);
		session_changed(s);
	}
	session_unlock(s);
	return ret;
}

/* ---- status ---- */

ssize_t session_counts(struct session *s, struct ring_counts *sum)
{
	struct stream_set set = { 0 };
	struct ring_counts c;
	ssize_t count;
	int ret = session_streams(s, NULL, &set);

	for (size_t i = 0; i < set.count; i++) {
		ring_counts(&set.streams[i], &c);
		ring_counts_add(sum, &c);
	}
	count = ret ? ret : (ssize_t)set.count;
	stream_set_deinit(&set);
	return count;
}

void session_status(struct session *s, struct md_buf *out)
{
	struct ring_counts sum = { 0 };
	ssize_t streams;
	char started[TIME_TEXT_MAX] = "never";
	const struct channel *c;

	domains_drain(s);
	streams = session_counts(s, &sum);
	domains_check(s);
	pthread_mutex_lock(&s->tracer->lock);
	if (s->started)
		time_print(s->started, TIME_FORMAT_STATUS, started);
	md_buf_printf(out,
		      "state %s\nowner %u\nstarted %s\nevents_recorded %" PRIu64
		      "\nevents_discarded %" PRIu64 "\nevents_overwritten %" PRIu64
		      "\nevents_unfiltered %" PRIu64 "\nbytes %" PRIu64 "\nstreams %zd\n",
		      s->gone     ? "gone"
		      : s->active ? "active"
				  : "inactive",
		      s->uid, started, sum.recorded, sum.discarded, sum.overwritten, sum.unfiltered,
		      sum.bytes, streams < 0 ? 0 : streams);
	quota_status(s, out);
	md_buf_printf(out, "buffers_refused %" PRIu64 "\nbuffers_lost %" PRIu64 "\n",
		      s->buffers_refused, s->buffers_lost);
	for_each_domain(d, s->tracer)
		if ((*d)->status)
			LOCKED(s->tracer, (*d)->status(s, out));
	for_each_part(p, s->tracer)
		if ((*p)->status)
			LOCKED(s->tracer, (*p)->status(s, out));
	cds_list_for_each_entry(c, &s->channels, node)
		if (c->blocking)
			md_buf_printf(out, "blocking %s: " CHANNEL_BLOCKING_NOTE "\n", c->name);
	pthread_mutex_unlock(&s->tracer->lock);
	session_advice(s, out);
}

/* ---- functions for views ---- */

struct text_engine **session_text(struct session *s)
{
	return &s->text;
}

const struct clock *session_clock(struct session *s)
{
	return &s->tracer->clock;
}

uint64_t session_clock_offset(struct session *s)
{
	return __atomic_load_n(&s->clock_offset, __ATOMIC_RELAXED);
}

int session_frozen(struct session *s, int64_t bytes)
{
	return quota_frozen(s, bytes);
}
