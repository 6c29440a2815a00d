// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Settings of sessions and channels, as files show and take them: one value each. Their rows are in
 * the tables of base/setting.h.
 */
#include <errno.h>

#include "tracer/base/setting.h"
#include "tracer/session/session.h"

int session_may_set(const struct session *s, struct tr_err *err)
{
	int ret = session_check_alive(s, err);

	if (!ret && s->starts)
		ret = tr_fail(err, -EBUSY, "cannot change after the session was first started");
	return ret;
}

int session_show(struct session *s, const char *setting, bool saved, struct md_buf *out)
{
	const struct setting *row = setting_find(s->tracer->settings, setting);

	if (!row)
		return -EINVAL;
	pthread_mutex_lock(&s->tracer->lock);
	if (saved && row->save)
		row->save(s, out);
	else
		setting_show(row, s, out);
	pthread_mutex_unlock(&s->tracer->lock);
	return 0;
}

static int store_member(struct session *s, const struct setting *row, const char *value,
			struct tr_err *err)
{
	uint64_t v = 0;
	int ret = setting_parse(row, value, &v, err);

	if (ret)
		return ret;
	session_lock(s);
	ret = row->live ? session_check_alive(s, err) : session_may_set(s, err);
	if (!ret && row->check)
		ret = row->check(s, value, &v, err);
	if (!ret) {
		setting_set(row, s, v);
		if (row->changed)
			row->changed(s);
		session_save(s);
		session_changed(s);
	}
	session_unlock(s);
	return ret;
}

int session_store(struct session *s, const char *setting, const char *text, bool replace,
		  struct tr_err *err)
{
	const struct setting *row = setting_find(s->tracer->settings, setting);

	if (!row)
		return -EINVAL;
	return row->store ? row->store(s, text, replace, err) : store_member(s, row, text, err);
}

/* ---- of a channel ---- */

int channel_show(struct session *s, enum domain domain, const char *channel, const char *setting,
		 struct md_buf *out)
{
	const struct setting *row = setting_find(channel_settings, setting);
	struct channel *c;

	pthread_mutex_lock(&s->tracer->lock);
	c = row ? channel_find(s, domain, channel) : NULL;
	if (c)
		setting_show(row, c, out);
	pthread_mutex_unlock(&s->tracer->lock);
	return c ? 0 : -ENOENT;
}

/* Caller holds session.lock and tracer.lock. */
static int store_setting(struct channel *c, const struct setting *row, const char *value,
			 struct tr_err *err)
{
	uint64_t v = 0;
	int ret;

	if (c->started && !row->live)
		return tr_fail(err, -EBUSY, "cannot change after the session was first started");
	ret = setting_parse(row, value, &v, err);
	if (!ret && row->check)
		ret = row->check(c, value, &v, err);
	if (ret)
		return ret;
	setting_set(row, c, v);
	if (row->live)
		session_apply(c->session);
	session_save(c->session);
	session_changed(c->session);
	return 0;
}

int channel_store(struct session *s, enum domain domain, const char *channel, const char *setting,
		  const char *value, struct tr_err *err)
{
	const struct setting *row = setting_find(channel_settings, setting);
	struct channel *c;
	int ret;

	if (!row)
		return -EINVAL;
	session_lock(s);
	c = channel_find(s, domain, channel);
	ret = c ? store_setting(c, row, value, err) : channel_missing(err, channel);
	session_unlock(s);
	return ret;
}
