// SPDX-License-Identifier: GPL-2.0-or-later
/* The settings of a channel: the files below channels/NAME/ that show and take one value. */
#include <errno.h>
#include <string.h>

#include "tracer/base/setting.h"
#include "tracer/session/session.h"

#define MONITOR_PERIOD_MIN 1000u                /* us */
#define BUFFER_MAX (UINT64_C(1) << 40)          /* bytes per CPU */

static int check_buffer(const char *value, uint64_t size, uint64_t count, struct tr_err *err)
{
	return size * count > BUFFER_MAX
		       ? tr_fail_at(err, -EINVAL, value, 0, "the buffer would be too large") : 0;
}

static int check_subbuf_size(const void *channel, const char *value, uint64_t *v,
			     struct tr_err *err)
{
	return check_buffer(value, *v, ((const struct channel *)channel)->subbuf_count, err);
}

static int check_subbuf_count(const void *channel, const char *value, uint64_t *v,
			      struct tr_err *err)
{
	return check_buffer(value, ((const struct channel *)channel)->subbuf_size, *v, err);
}

static int check_loss_mode(const void *channel, const char *value, uint64_t *v, struct tr_err *err)
{
	return *v == LOSS_OVERWRITE && ((const struct channel *)channel)->blocking
		       ? tr_fail_at(err, -EINVAL, value, 0,
				    "blocking_timeout is set, but a writer that overwrites never "
				    "waits for room")
		       : 0;
}

static int check_blocking_timeout(const void *channel, const char *value, uint64_t *v,
				  struct tr_err *err)
{
	return *v && ((const struct channel *)channel)->loss == LOSS_OVERWRITE
		       ? tr_fail_at(err, -EINVAL, value, 0,
				    "loss_mode is overwrite, but a writer that overwrites never "
				    "waits for room")
		       : 0;
}

/* A shorter period would cost more than it gains. */
static int check_monitor_period(const void *channel, const char *value, uint64_t *v,
				struct tr_err *err)
{
	(void)channel, (void)value, (void)err;
	if (*v && *v < MONITOR_PERIOD_MIN)
		*v = MONITOR_PERIOD_MIN;
	return 0;
}

/* Memory that is there for good is not given back. */
static int check_memory(bool both, const char *value, const char *other, struct tr_err *err)
{
	return both ? tr_fail_at(err, -EINVAL, value, 0,
				 "%s: memory that is preallocated is not given back", other)
		    : 0;
}

static int check_memory_max_age(const void *channel, const char *value, uint64_t *v,
				struct tr_err *err)
{
	return check_memory(*v && ((const struct channel *)channel)->preallocate, value,
			    "buffer_preallocation is preallocate", err);
}

static int check_preallocation(const void *channel, const char *value, uint64_t *v,
			       struct tr_err *err)
{
	return check_memory(*v && ((const struct channel *)channel)->max_age, value,
			    "memory_max_age is set", err);
}

#define AT(member) SETTING_MEMBER(channel, member)
#define SETTING(name, kind, ...) { name, SETTING_##kind, __VA_ARGS__ },
const struct setting channel_settings[] = {
#include "tracer/session/channel_settings.def"
	{ 0 }
};

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

struct periods session_periods(struct session *s, const char *owner, const char *channel)
{
	bool kernel = owner && !strcmp(owner, OWNER_KERNEL);
	struct periods p = { 0 };
	bool first = true;
	struct channel *c;

	pthread_mutex_lock(&s->tracer->lock);
	cds_list_for_each_entry(c, &s->channels, node) {
		if (channel && (c->kernel != kernel || strcmp(c->name, channel) != 0))
			continue;
		p.hold = c->switch_period * 1000;
		if (first || c->read_period * 1000 < p.look)
			p.look = c->read_period * 1000;
		first = false;
	}
	pthread_mutex_unlock(&s->tracer->lock);
	return p;
}

void session_file_limits(struct session *s, bool kernel, const char *channel, uint64_t *size,
			 uint32_t *count)
{
	struct channel *c;

	pthread_mutex_lock(&s->tracer->lock);
	c = channel_find(s, kernel ? DOMAIN_KERNEL : DOMAIN_USER, channel);
	*size = c ? c->file_size : 0;
	*count = c && c->file_size ? c->file_count : 0;
	pthread_mutex_unlock(&s->tracer->lock);
}
