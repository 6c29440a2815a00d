// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/base/facts.h"
#include "tracer/base/rows.h"
#include "tracer/session/quota.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "tracer/session/session.h"

/* The limits of a user. The daemon's own user has only limits that name its uid. */
static struct user_limit limit_of(const struct tracer *t, uid_t uid)
{
	static const struct user_limit none;

	for (size_t i = 0; i < t->config.user_limit_count; i++)
		if (t->config.user_limits[i].uid == uid)
			return t->config.user_limits[i];
	return uid == geteuid() ? none : t->config.limit;
}

/* What one user has. Guarded by tracer.shares_lock. */
struct share {
	struct share *next;
	uid_t uid;
	uint32_t sessions;
	uint64_t buffer_bytes;
	int64_t frozen;
};

static struct share **place_of(struct tracer *t, uid_t uid)
{
	struct share **at;

	for (at = &t->shares; *at && (*at)->uid != uid; at = &(*at)->next)
		;
	return at;
}

/* The share of a user, a new one if there is none; NULL: no memory. Caller holds shares_lock. */
static struct share *find_share(struct tracer *t, uid_t uid)
{
	struct share **at = place_of(t, uid);

	if (!*at && (*at = calloc(1, sizeof(**at))))
		(*at)->uid = uid;
	return *at;
}

/* Frees a share with nothing in it. Caller holds shares_lock. */
static void release_share(struct tracer *t, struct share *u)
{
	if (!u || u->sessions || u->buffer_bytes || u->frozen)
		return;
	*place_of(t, u->uid) = u->next;
	free(u);
}

int quota_session(struct tracer *t, uid_t uid, struct tr_err *err)
{
	struct user_limit l = limit_of(t, uid);
	const struct share *u;
	int ret = 0;

	pthread_mutex_lock(&t->shares_lock);
	u = *place_of(t, uid);
	if (u && l.max_sessions && u->sessions >= l.max_sessions)
		ret = tr_fail(err, -EDQUOT, "no more than %u sessions of one user", l.max_sessions);
	pthread_mutex_unlock(&t->shares_lock);
	return ret;
}

bool quota_add(struct session *s)
{
	struct share *u;

	pthread_mutex_lock(&s->tracer->shares_lock);
	s->payer = s->uid;
	u = find_share(s->tracer, s->payer);
	if (u)
		u->sessions += !s->hidden;
	pthread_mutex_unlock(&s->tracer->shares_lock);
	return u;
}

void quota_remove(struct session *s)
{
	struct share *u;

	pthread_mutex_lock(&s->tracer->shares_lock);
	u = *place_of(s->tracer, s->payer);
	if (u) {
		u->sessions -= !s->hidden;
		release_share(s->tracer, u);
	}
	pthread_mutex_unlock(&s->tracer->shares_lock);
}

void quota_move(struct session *s, uid_t uid)
{
	struct share *from, *to;

	pthread_mutex_lock(&s->tracer->shares_lock);
	from = find_share(s->tracer, s->payer);
	to = find_share(s->tracer, uid);
	/* If memory is short the session still counts for its former owner. */
	if (from && to && from != to) {
		from->sessions--;
		from->buffer_bytes -= s->buffer_bytes;
		from->frozen -= s->frozen;
		to->sessions++;
		to->buffer_bytes += s->buffer_bytes;
		to->frozen += s->frozen;
		s->payer = uid;
		release_share(s->tracer, from);
	}
	pthread_mutex_unlock(&s->tracer->shares_lock);
	s->uid = uid;
}

int quota_buffer(const struct session *s, uint64_t bytes)
{
	uint64_t max = limit_of(s->tracer, s->payer).max_buffers, have;
	const struct share *u;

	if (!max)
		return 0;
	pthread_mutex_lock(&s->tracer->shares_lock);
	u = *place_of(s->tracer, s->payer);
	have = u ? u->buffer_bytes : 0;
	pthread_mutex_unlock(&s->tracer->shares_lock);
	return bytes > max || have > max - bytes ? -EDQUOT : 0;
}

void quota_count_buffer(struct session *s, int64_t bytes)
{
	struct share *u;

	pthread_mutex_lock(&s->tracer->shares_lock);
	/* Never NULL in practice: the session itself counts in this share. */
	u = find_share(s->tracer, s->payer);
	s->buffer_bytes += (uint64_t)bytes;
	if (u)
		u->buffer_bytes += (uint64_t)bytes;
	pthread_mutex_unlock(&s->tracer->shares_lock);
}

int quota_frozen(struct session *s, int64_t bytes)
{
	struct tracer *t = s->tracer;
	struct share *u;
	uint64_t max;
	int ret = 0;

	pthread_mutex_lock(&t->shares_lock);
	max = limit_of(t, s->payer).max_frozen;
	u = find_share(t, s->payer);
	if (!u)
		ret = -ENOMEM;
	else if (bytes > 0 &&
		 ((t->config.max_frozen && (uint64_t)(t->frozen + bytes) > t->config.max_frozen) ||
		  (max && (uint64_t)(u->frozen + bytes) > max)))
		ret = -EDQUOT;
	if (!ret) {
		t->frozen += bytes;
		s->frozen += bytes;
		u->frozen += bytes;
	}
	release_share(t, u);
	pthread_mutex_unlock(&t->shares_lock);
	return ret;
}

/* What a limit leaves; UINT64_MAX: there is no limit. */
static uint64_t room_of(uint64_t limit, int64_t used)
{
	return !limit ? UINT64_MAX : used < 0 ? limit
	       : (uint64_t)used < limit ? limit - (uint64_t)used : 0;
}

int session_no_room(struct session *s, struct tr_err *err)
{
	static const char advice[] = "close files of export/ and trace/, remove snapshots, or "
				     "hold fewer events";
	struct tracer *t = s->tracer;
	struct user_limit l;
	const struct share *u;
	uint64_t all, own;
	uid_t payer;

	pthread_mutex_lock(&t->shares_lock);
	payer = s->payer;
	l = limit_of(t, payer);
	u = *place_of(t, payer);
	all = room_of(t->config.max_frozen, t->frozen);
	own = room_of(l.max_frozen, u ? u->frozen : 0);
	pthread_mutex_unlock(&t->shares_lock);
	if (own < all)
		return tr_fail(err, -EDQUOT,
			       "this needs more than the %" PRIu64 " bytes that views may still "
			       "hold for user %u, whose limit of frozen bytes is %" PRIu64 ": %s",
			       own, payer, l.max_frozen, advice);
	return tr_fail(err, -EDQUOT,
		       "this needs more than the %" PRIu64 " bytes that views may still hold; "
		       "max_frozen is %" PRIu64 ": %s", all, t->config.max_frozen, advice);
}

uint64_t quota_frozen_now(struct tracer *t)
{
	int64_t n;

	pthread_mutex_lock(&t->shares_lock);
	n = t->frozen;
	pthread_mutex_unlock(&t->shares_lock);
	return n > 0 ? (uint64_t)n : 0;
}

void quota_status(struct session *s, struct facts *out)
{
	pthread_mutex_lock(&s->tracer->shares_lock);
	fact_number(out, "buffer_bytes", s->buffer_bytes);
	fact_number(out, "frozen_bytes", (uint64_t)s->frozen);
	pthread_mutex_unlock(&s->tracer->shares_lock);
}

static void show_limit(struct md_buf *out, const char *key, uint64_t limit)
{
	if (limit)
		md_buf_printf(out, " %s=%" PRIu64, key, limit);
}

static void show_share(struct tracer *t, const struct share *u, struct facts *out)
{
	struct user_limit l = limit_of(t, u->uid);
	struct md_buf words = MD_BUF_INIT, object = MD_BUF_INIT;
	struct rows r = { .out = &object, .json = true };

	md_buf_printf(&words, "%u sessions=%u buffer_bytes=%" PRIu64 " frozen_bytes=%" PRId64,
		      u->uid, u->sessions, u->buffer_bytes, u->frozen);
	show_limit(&words, "max_sessions", l.max_sessions);
	show_limit(&words, "max_buffers", l.max_buffers);
	show_limit(&words, "max_frozen", l.max_frozen);
	row_begin(&r, NULL);
	cell_number(&r, "uid", 0, true, u->uid);
	cell_number(&r, "sessions", 0, true, u->sessions);
	cell_number(&r, "buffer_bytes", 0, true, u->buffer_bytes);
	cell_number(&r, "frozen_bytes", 0, true, (uint64_t)u->frozen);
	/* null: no limit. */
	cell_number(&r, "max_sessions", 0, l.max_sessions, l.max_sessions);
	cell_number(&r, "max_buffers", 0, l.max_buffers, l.max_buffers);
	cell_number(&r, "max_frozen", 0, l.max_frozen, l.max_frozen);
	row_end(&r);
	fact_object(out, "user", md_buf_str(&words), md_buf_str(&object));
	out->out->failed |= words.failed || object.failed;
	md_buf_deinit(&words);
	md_buf_deinit(&object);
}

void quota_show(struct tracer *t, uid_t viewer, struct facts *out)
{
	pthread_mutex_lock(&t->shares_lock);
	for (const struct share *u = t->shares; u; u = u->next)
		if (!viewer || viewer == geteuid() || viewer == u->uid)
			show_share(t, u, out);
	pthread_mutex_unlock(&t->shares_lock);
}

void quota_deinit(struct tracer *t)
{
	while (t->shares) {
		struct share *u = t->shares;

		t->shares = u->next;
		free(u);
	}
	pthread_mutex_destroy(&t->shares_lock);
}
