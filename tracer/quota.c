// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/quota.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "tracer/core.h"

/* What holds for the user. Whose daemon it is has no limits but those that name him. */
static struct user_limit limit_of(const struct tracer *t, uid_t uid)
{
	static const struct user_limit none;

	for (size_t i = 0; i < t->config.user_limit_count; i++)
		if (t->config.user_limits[i].uid == uid)
			return t->config.user_limits[i];
	return uid == geteuid() ? none : t->config.limit;
}

int quota_session(struct tracer *t, uid_t uid, struct tr_err *err)
{
	struct user_limit l = limit_of(t, uid);
	struct user *u = user_find(t, uid);
	int ret = 0;

	if (!u)
		return tr_fail(err, -ENOMEM, "out of memory");
	if (l.max_sessions && u->sessions >= l.max_sessions)
		ret = tr_fail(err, -EDQUOT, "no more than %u sessions of one user", l.max_sessions);
	user_release(t, u);
	return ret;
}

bool quota_add(struct session *s)
{
	struct user *u = user_find(s->tracer, s->uid);

	if (u)
		u->sessions++;
	return u;
}

void quota_remove(struct session *s)
{
	struct user *u = user_find(s->tracer, s->uid);

	if (!u)
		return;
	u->sessions--;
	user_release(s->tracer, u);
}

void quota_move(struct session *s, uid_t uid)
{
	struct user *from = user_find(s->tracer, s->uid), *to = user_find(s->tracer, uid);

	/* Without memory it goes on counting for nobody new; its owner it has nevertheless. */
	if (from && to && from != to) {
		from->sessions--;
		from->buffer_bytes -= s->buffer_bytes;
		from->frozen -= s->frozen;
		to->sessions++;
		to->buffer_bytes += s->buffer_bytes;
		to->frozen += s->frozen;
		user_release(s->tracer, from);
	}
	s->uid = uid;
}

int quota_buffer(const struct session *s, uint64_t bytes)
{
	uint64_t max = limit_of(s->tracer, s->uid).max_buffers;
	const struct user *u = max ? user_find(s->tracer, s->uid) : NULL;

	return u && (bytes > max || u->buffer_bytes > max - bytes) ? -EDQUOT : 0;
}

void quota_count_buffer(struct session *s, int64_t bytes)
{
	struct user *u = user_find(s->tracer, s->uid);

	/* (Cannot fail: the session counts, so its owner is known.) */
	s->buffer_bytes += (uint64_t)bytes;
	if (u)
		u->buffer_bytes += (uint64_t)bytes;
}

int quota_frozen(struct session *s, int64_t bytes)
{
	struct tracer *t = s->tracer;
	struct user *u;
	uint64_t max;
	int ret = 0;

	pthread_mutex_lock(&t->lock);
	max = limit_of(t, s->uid).max_frozen;
	u = user_find(t, s->uid);
	if (!u)
		ret = -ENOMEM;
	else if (bytes > 0 && ((t->config.max_frozen && (uint64_t)(t->frozen + bytes) > t->config.max_frozen) ||
			       (max && (uint64_t)(u->frozen + bytes) > max)))
		ret = -EDQUOT;
	if (!ret) {
		t->frozen += bytes;
		s->frozen += bytes;
		u->frozen += bytes;
	}
	user_release(t, u);
	pthread_mutex_unlock(&t->lock);
	return ret;
}

static void show_limit(struct md_buf *out, const char *key, uint64_t limit)
{
	if (limit)
		md_buf_printf(out, " %s=%" PRIu64, key, limit);
}

static void show_user(struct tracer *t, const struct user *u, struct md_buf *out)
{
	struct user_limit l = limit_of(t, u->uid);

	if (!u->sessions && !u->buffer_bytes && !u->frozen && !u->apps)
		return;
	md_buf_printf(out, "user %u sessions=%u buffer_bytes=%" PRIu64 " frozen_bytes=%" PRId64 " registrations=%u", u->uid,
		      u->sessions, u->buffer_bytes, u->frozen, u->apps);
	show_limit(out, "max_sessions", l.max_sessions);
	show_limit(out, "max_buffers", l.max_buffers);
	show_limit(out, "max_frozen", l.max_frozen);
	md_buf_putc(out, '\n');
}

void quota_show(struct tracer *t, uid_t viewer, struct md_buf *out)
{
	for (struct user *u = user_next(t, NULL); u; u = user_next(t, u))
		if (!viewer || viewer == geteuid() || viewer == u->uid)
			show_user(t, u, out);
}
