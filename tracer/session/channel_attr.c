// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The attributes of a channel: one row for each file below channels/NAME/ that shows and takes one
 * value.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "tracer/base/base.h"
#include "tracer/session/session.h"

#define PERIOD_MAX (UINT64_C(3600) * 1000000)   /* us */
#define MONITOR_PERIOD_MIN 1000u                /* us */
#define FILE_SIZE_MAX (UINT64_C(1) << 62)
#define FILE_COUNT_MAX 1000000u
#define BUFFER_MAX (UINT64_C(1) << 40)          /* bytes per CPU */

/* Finds value among choices, which end with NULL, and puts its index into *chosen. */
static int parse_choice(const char *value, const char *const *choices, int *chosen,
			struct tr_err *err)
{
	char all[128] = "";

	for (int i = 0; choices[i]; i++) {
		if (!strcmp(value, choices[i])) {
			*chosen = i;
			return 0;
		}
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? ", " : "",
			 choices[i]);
	}
	return tr_fail_at(err, -EINVAL, value, 0, "not one of %s", all);
}

/* Rounds *v, which was parsed from value, up to a power of two. */
static int round_to_power(const char *value, uint64_t min, uint64_t max, uint64_t *v,
			  struct tr_err *err)
{
	uint64_t p = min;

	while (p < *v && p <= max)
		p *= 2;
	if (!*v || *v > max || p > max)
		return tr_fail_at(err, -EINVAL, value, 0, "must be from %" PRIu64 " to %" PRIu64,
				  min, max);
	*v = p;
	return 0;
}

static int parse_period(const char *value, uint64_t *period, struct tr_err *err)
{
	uint64_t v;
	int ret = units_time(value, &v, err);

	if (!ret && v > PERIOD_MAX)
		ret = tr_fail_at(err, -EINVAL, value, 0, "must be from 0 (off) to an hour");
	if (!ret)
		*period = v;
	return ret;
}

/* The largest number is the time without end. */
static void print_number(uint64_t n, struct md_buf *out)
{
	if (n == UINT64_MAX)
		md_buf_puts(out, "inf\n");
	else
		md_buf_printf(out, "%" PRIu64 "\n", n);
}

static void show_enabled(const struct channel *c, struct md_buf *out)
{
	md_buf_printf(out, "%d\n", c->enabled);
}

static int store_enabled(struct channel *c, const char *value, struct tr_err *err)
{
	static const char *const bits[] = { "0", "1", NULL };
	int i = 0, ret = parse_choice(value, bits, &i, err);

	if (!ret)
		c->enabled = i;
	return ret;
}

static int store_subbuf_size(struct channel *c, const char *value, struct tr_err *err)
{
	uint64_t v = 0;
	int ret = units_size(value, &v, err);

	if (!ret)
		ret = round_to_power(value, TRAIL_SUBBUF_MIN, TRAIL_SUBBUF_MAX, &v, err);
	if (!ret && v * c->subbuf_count > BUFFER_MAX)
		ret = tr_fail_at(err, -EINVAL, value, 0, "the buffer would be too large");
	if (!ret)
		c->subbuf_size = v;
	return ret;
}

static void show_subbuf_count(const struct channel *c, struct md_buf *out)
{
	md_buf_printf(out, "%u\n", c->subbuf_count);
}

static int store_subbuf_count(struct channel *c, const char *value, struct tr_err *err)
{
	uint64_t v = 0;
	int ret = units_count(value, &v, err);

	if (!ret)
		ret = round_to_power(value, 2, TRAIL_SUBBUF_COUNT_MAX, &v, err);
	if (!ret && v * c->subbuf_size > BUFFER_MAX)
		ret = tr_fail_at(err, -EINVAL, value, 0, "the buffer would be too large");
	if (!ret)
		c->subbuf_count = (uint32_t)v;
	return ret;
}

static void show_loss_mode(const struct channel *c, struct md_buf *out)
{
	static const char *const modes[] = {
		"[default] overwrite discard",
		"default overwrite [discard]",
		"default [overwrite] discard",
	};

	md_buf_printf(out, "%s\n", modes[c->loss + 1]);
}

static int store_loss_mode(struct channel *c, const char *value, struct tr_err *err)
{
	static const char *const modes[] = { "discard", "overwrite", "default", NULL };
	int i = 0, ret = parse_choice(value, modes, &i, err);

	if (!ret && i == TRAIL_MODE_OVERWRITE && c->blocking)
		ret = tr_fail_at(err, -EINVAL, value, 0,
				 "blocking_timeout is set, but a writer that overwrites never "
				 "waits for room");
	if (!ret)
		c->loss = i == 2 ? -1 : i;
	return ret;
}

static void show_buffering(const struct channel *c, struct md_buf *out)
{
	md_buf_puts(out, c->per_process ? "user [process]\n" : "[user] process\n");
}

static int store_buffering(struct channel *c, const char *value, struct tr_err *err)
{
	/* `uid` and `pid` are LTTng's words for the same two. */
	static const char *const schemes[] = { "user", "process", "uid", "pid", NULL };
	int i = 0, ret = parse_choice(value, schemes, &i, err);

	if (!ret)
		c->per_process = i & 1;
	return ret;
}

static int store_blocking_timeout(struct channel *c, const char *value, struct tr_err *err)
{
	uint64_t v = 0;
	int ret = units_time(value, &v, err);

	if (!ret && v && c->loss == TRAIL_MODE_OVERWRITE)
		ret = tr_fail_at(err, -EINVAL, value, 0,
				 "loss_mode is overwrite, but a writer that overwrites never waits "
				 "for room");
	if (!ret)
		c->blocking = v;
	return ret;
}

static int store_switch_period(struct channel *c, const char *value, struct tr_err *err)
{
	return parse_period(value, &c->switch_period, err);
}

static int store_read_period(struct channel *c, const char *value, struct tr_err *err)
{
	return parse_period(value, &c->read_period, err);
}

static int store_monitor_period(struct channel *c, const char *value, struct tr_err *err)
{
	int ret = parse_period(value, &c->monitor_period, err);

	/* A shorter period would cost more than it gains. */
	if (!ret && c->monitor_period && c->monitor_period < MONITOR_PERIOD_MIN)
		c->monitor_period = MONITOR_PERIOD_MIN;
	return ret;
}

static int store_file_size(struct channel *c, const char *value, struct tr_err *err)
{
	uint64_t v = 0;
	int ret = units_size(value, &v, err);

	if (!ret && v > FILE_SIZE_MAX)
		ret = tr_fail_at(err, -EINVAL, value, 0, "more than 2^62 bytes");
	if (!ret)
		c->file_size = v;
	return ret;
}

static void show_file_count(const struct channel *c, struct md_buf *out)
{
	md_buf_printf(out, "%u\n", c->file_count);
}

static int store_file_count(struct channel *c, const char *value, struct tr_err *err)
{
	uint64_t v = 0;
	int ret = units_count(value, &v, err);

	if (!ret && v > FILE_COUNT_MAX)
		ret = tr_fail_at(err, -EINVAL, value, 0, "more than %u files", FILE_COUNT_MAX);
	if (!ret)
		c->file_count = (uint32_t)v;
	return ret;
}

/* Caller of the hooks holds tracer.lock; of store, session.lock too. */
struct channel_setting {
	/* NULL: the setting is the uint64_t at `number` of struct channel, shown as it is */
	void (*show)(const struct channel *c, struct md_buf *out);
	size_t number;
	int (*store)(struct channel *c, const char *value, struct tr_err *err);
	bool live;	/* can change after the first start; decisions depend on it */
};

#define NUMBER(member) NULL, offsetof(struct channel, member)

static const struct channel_setting settings[] = {
	[CHANNEL_ENABLED] = { show_enabled, 0, store_enabled, true },
	[CHANNEL_SUBBUF_SIZE] = { NUMBER(subbuf_size), store_subbuf_size, false },
	[CHANNEL_SUBBUF_COUNT] = { show_subbuf_count, 0, store_subbuf_count, false },
	[CHANNEL_LOSS_MODE] = { show_loss_mode, 0, store_loss_mode, false },
	[CHANNEL_BUFFERING] = { show_buffering, 0, store_buffering, false },
	[CHANNEL_BLOCKING_TIMEOUT] = { NUMBER(blocking), store_blocking_timeout, false },
	[CHANNEL_SWITCH_PERIOD] = { NUMBER(switch_period), store_switch_period, false },
	[CHANNEL_READ_PERIOD] = { NUMBER(read_period), store_read_period, false },
	[CHANNEL_MONITOR_PERIOD] = { NUMBER(monitor_period), store_monitor_period, true },
	[CHANNEL_FILE_SIZE] = { NUMBER(file_size), store_file_size, false },
	[CHANNEL_FILE_COUNT] = { show_file_count, 0, store_file_count, false },
};

/* Caller holds tracer.lock. */
static void show_setting(const struct channel *c, const struct channel_setting *row,
			 struct md_buf *out)
{
	if (row->show)
		row->show(c, out);
	else
		print_number(*(const uint64_t *)((const char *)c + row->number), out);
}

int channel_show(struct session *s, enum domain domain, const char *channel, enum channel_attr attr,
		 struct md_buf *out)
{
	struct channel *c;

	pthread_mutex_lock(&s->tracer->lock);
	c = channel_find(s, domain, channel);
	if (c)
		show_setting(c, &settings[attr], out);
	pthread_mutex_unlock(&s->tracer->lock);
	return c ? 0 : -ENOENT;
}

/* Caller holds session.lock and tracer.lock. */
static int store_setting(struct channel *c, const struct channel_setting *row, const char *value,
			 struct tr_err *err)
{
	int ret;

	if (c->started && !row->live)
		return tr_fail(err, -EBUSY, "cannot change after the session was first started");
	ret = row->store(c, value, err);
	if (ret)
		return ret;
	if (row->live)
		session_apply(c->session);
	session_save(c->session);
	session_changed(c->session);
	return 0;
}

int channel_store(struct session *s, enum domain domain, const char *channel,
		  enum channel_attr attr, const char *value, struct tr_err *err)
{
	struct channel *c;
	int ret;

	session_lock(s);
	c = channel_find(s, domain, channel);
	ret = c ? store_setting(c, &settings[attr], value, err) : channel_missing(err, channel);
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
