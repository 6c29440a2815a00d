// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Channels of both domains: attributes, event rules, and their streams. The functions of tracer.h take the lock; the others
 * of session/session.h want it held.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/base.h"
#include "tracer/session/session.h"
#include "tracer/ring/reader.h"

#define CHANNEL_NAME_MAX 128
#define CHANNELS_MAX 256u       /* of one session: what a user makes the daemon keep has to have an end */
#define SHORTCUT "channel0"
#define PERIOD_MAX (UINT64_C(3600) * 1000000)
#define FILE_MAX (UINT64_C(1) << 62)
#define FILES_MAX 1000000u
#define BUFFER_MAX (UINT64_C(1) << 40)  /* bytes per CPU */

struct channel *channel_find(const struct session *s, enum domain domain, const char *name)
{
	struct channel *c;

	cds_list_for_each_entry(c, &s->channels, node)
		if (c->kernel == (domain == DOMAIN_KERNEL) && !strcmp(c->name, name ? name : SHORTCUT))
			return c;
	return NULL;
}

struct channel *channel_new(struct session *s, enum domain domain, const char *name, uint32_t id)
{
	struct channel *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	CDS_INIT_LIST_HEAD(&c->groups);
	c->session = s;
	c->kernel = domain == DOMAIN_KERNEL;
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->id = id;
	if (id >= s->next_channel)
		s->next_channel = id + 1;
	c->serial = ++s->tracer->next_serial;
	c->enabled = true;
	c->loss = -1;
	c->mode = TRAIL_MODE_OVERWRITE;
	c->subbuf_size = 512 * 1024;
	c->subbuf_count = 4;
	if (c->kernel)
		kernel_default_geometry(s->tracer->cpus, &c->subbuf_size, &c->subbuf_count);
	cds_list_add_tail(&c->node, &s->channels);
	return c;
}

static const struct domain_ops *domain_ops(const struct session *s, enum domain domain)
{
	return s->tracer->domains[domain];
}

static const struct domain_ops *channel_ops(const struct channel *c)
{
	return domain_ops(c->session, c->kernel ? DOMAIN_KERNEL : DOMAIN_USER);
}

/* From here on the geometry is fixed. */
int channel_start(struct channel *c, struct tr_err *err)
{
	const struct domain_ops *ops = channel_ops(c);
	int ret = 0;

	if (c->started)
		return ops->start ? ops->start(c, err) : 0;
	/* Who may wait for room wants what is there to be kept. */
	c->mode = c->loss >= 0 ? (enum trail_mode)c->loss :
		  c->blocking || c->session->output ? TRAIL_MODE_DISCARD : TRAIL_MODE_OVERWRITE;
	if (ops->start)
		ret = ops->start(c, err);
	c->started = !ret;
	return ret;
}

void channel_drop(struct channel *c)
{
	struct stream_group *cl, *next;

	if (channel_ops(c)->drop)
		channel_ops(c)->drop(c);
	cds_list_for_each_entry_safe(cl, next, &c->groups, node)
		group_drop(cl);
	cds_list_del(&c->node);
	free(c->adopt);
	rule_list_deinit(&c->rules);
	context_list_deinit(&c->contexts);
	free(c);
}

static int gone(struct tr_err *err)
{
	return tr_fail(err, -ENOENT, "the session is gone");
}

static int no_channel(struct tr_err *err, const char *name)
{
	return tr_fail(err, -ENOENT, "no channel '%s'", name ? name : SHORTCUT);
}

void channels_list(struct session *s, enum domain domain, struct md_buf *names)
{
	struct channel *c;

	pthread_mutex_lock(&s->tracer->lock);
	cds_list_for_each_entry(c, &s->channels, node)
		if (c->kernel == (domain == DOMAIN_KERNEL))
			md_buf_put(names, c->name, strlen(c->name) + 1);
	pthread_mutex_unlock(&s->tracer->lock);
}

bool channel_exists(struct session *s, enum domain domain, const char *channel)
{
	bool found;

	pthread_mutex_lock(&s->tracer->lock);
	found = channel_find(s, domain, channel) != NULL;
	pthread_mutex_unlock(&s->tracer->lock);
	return found;
}

static uint32_t channel_count(struct session *s)
{
	struct channel *c;
	uint32_t n = 0;

	cds_list_for_each_entry(c, &s->channels, node)
		n++;
	return n;
}

int channel_create(struct session *s, enum domain domain, const char *channel, struct tr_err *err)
{
	struct channel *c;
	int ret = name_check(channel, CHANNEL_NAME_MAX, err);

	if (ret)
		return ret;
	pthread_mutex_lock(&s->tracer->lock);
	if (s->gone)
		ret = gone(err);
	else if (channel_find(s, domain, channel))
		ret = tr_fail(err, -EEXIST, "there is a channel '%s' already", channel);
	else if (channel_count(s) >= CHANNELS_MAX)
		ret = tr_fail(err, -ENOSPC, "a session has at most %u channels", CHANNELS_MAX);
	else if (!(c = channel_new(s, domain, channel, s->next_channel)))
		ret = tr_fail(err, -ENOMEM, "out of memory");
	else if ((ret = session_save(s))) {
		channel_drop(c);
		tr_fail(err, ret, "the state directory cannot be written");
	} else {
		session_changed(s);
	}
	pthread_mutex_unlock(&s->tracer->lock);
	return ret;
}

int channel_destroy(struct session *s, enum domain domain, const char *channel, struct tr_err *err)
{
	struct channel *c;
	int ret = 0;

	pthread_mutex_lock(&s->tracer->lock);
	c = channel_find(s, domain, channel);
	if (c && session_must_finish(s)) {
		/* What it has recorded goes to the files before it goes. */
		c->enabled = false;
		session_apply(s);
		pthread_mutex_unlock(&s->tracer->lock);
		session_flush(s);
		pthread_mutex_lock(&s->tracer->lock);
		c = channel_find(s, domain, channel);
	}
	if (!c) {
		ret = no_channel(err, channel);
	} else {
		c->enabled = false;
		session_apply(s);
		channel_drop(c);
		session_save(s);
		session_changed(s);
	}
	pthread_mutex_unlock(&s->tracer->lock);
	domains_gc(s->tracer);
	return ret;
}

/* ---- attributes ---- */

static void show_time(uint64_t us, struct md_buf *out)
{
	if (us == UINT64_MAX)
		md_buf_puts(out, "inf\n");
	else
		md_buf_printf(out, "%" PRIu64 "\n", us);
}

static void show_attr(const struct channel *c, enum channel_attr attr, struct md_buf *out)
{
	static const char *const loss[] = {
		"[default] overwrite discard", "default overwrite [discard]", "default [overwrite] discard",
	};

	switch (attr) {
	case CHANNEL_ENABLED:
		md_buf_printf(out, "%d\n", c->enabled);
		break;
	case CHANNEL_SUBBUF_SIZE:
		md_buf_printf(out, "%" PRIu64 "\n", c->subbuf_size);
		break;
	case CHANNEL_SUBBUF_COUNT:
		md_buf_printf(out, "%u\n", c->subbuf_count);
		break;
	case CHANNEL_LOSS_MODE:
		md_buf_printf(out, "%s\n", loss[c->loss + 1]);
		break;
	case CHANNEL_BUFFERING:
		md_buf_puts(out, c->per_process ? "user [process]\n" : "[user] process\n");
		break;
	case CHANNEL_BLOCKING_TIMEOUT:
		show_time(c->blocking, out);
		break;
	case CHANNEL_SWITCH_PERIOD:
		show_time(c->switch_period, out);
		break;
	case CHANNEL_READ_PERIOD:
		show_time(c->read_period, out);
		break;
	case CHANNEL_FILE_SIZE:
		md_buf_printf(out, "%" PRIu64 "\n", c->file_size);
		break;
	case CHANNEL_FILE_COUNT:
		md_buf_printf(out, "%u\n", c->file_count);
		break;
	}
}

static int choose(const char *value, const char *const *choices, int *chosen, struct tr_err *err)
{
	char all[128] = "";

	for (int i = 0; choices[i]; i++) {
		if (!strcmp(value, choices[i])) {
			*chosen = i;
			return 0;
		}
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? ", " : "", choices[i]);
	}
	return tr_fail_at(err, -EINVAL, value, 0, "not one of %s", all);
}

/* Rounded up; a size of 2^n reads back as it was written. */
static int power_of_two(const char *value, uint64_t min, uint64_t max, uint64_t *out, struct tr_err *err)
{
	uint64_t v, p = min;
	int ret = units_size(value, &v, err);

	if (ret)
		return ret;
	while (p < v && p <= max)
		p *= 2;
	if (!v || v > max || p > max)
		return tr_fail_at(err, -EINVAL, value, 0, "must be from %" PRIu64 " to %" PRIu64, min, max);
	*out = p;
	return 0;
}

static int store_period(const char *value, uint64_t *period, struct tr_err *err)
{
	uint64_t v;
	int ret = units_time(value, &v, err);

	if (!ret && v > PERIOD_MAX)
		ret = tr_fail_at(err, -EINVAL, value, 0, "must be from 0 (off) to an hour");
	if (!ret)
		*period = v;
	return ret;
}

static int store_attr(struct channel *c, enum channel_attr attr, const char *value, struct tr_err *err)
{
	static const char *const bits[] = { "0", "1", NULL }, *const losses[] = { "discard", "overwrite", "default", NULL };
	static const char *const bufferings[] = { "user", "process", "uid", "pid", NULL };
	uint64_t v = 0;
	int ret, i = 0;

	if (attr != CHANNEL_ENABLED && c->started)
		return tr_fail(err, -EBUSY, "cannot change after the session was first started");
	switch (attr) {
	case CHANNEL_ENABLED:
		ret = choose(value, bits, &i, err);
		if (!ret)
			c->enabled = i;
		return ret;
	case CHANNEL_SUBBUF_SIZE:
		ret = power_of_two(value, TRAIL_SUBBUF_MIN, TRAIL_SUBBUF_MAX, &v, err);
		if (!ret && v * c->subbuf_count > BUFFER_MAX)
			ret = tr_fail_at(err, -EINVAL, value, 0, "the buffer would be too large");
		if (!ret)
			c->subbuf_size = v;
		return ret;
	case CHANNEL_SUBBUF_COUNT:
		ret = power_of_two(value, 2, TRAIL_SUBBUF_COUNT_MAX, &v, err);
		if (!ret && v * c->subbuf_size > BUFFER_MAX)
			ret = tr_fail_at(err, -EINVAL, value, 0, "the buffer would be too large");
		if (!ret)
			c->subbuf_count = (uint32_t)v;
		return ret;
	case CHANNEL_LOSS_MODE:
		ret = choose(value, losses, &i, err);
		if (!ret && i == TRAIL_MODE_OVERWRITE && c->blocking)
			ret = tr_fail_at(err, -EINVAL, value, 0, "blocking_timeout is set, and who overwrites never waits for room");
		if (!ret)
			c->loss = i == 2 ? -1 : i;
		return ret;
	case CHANNEL_BUFFERING:
		ret = choose(value, bufferings, &i, err);
		if (!ret)
			c->per_process = i & 1;
		return ret;
	case CHANNEL_BLOCKING_TIMEOUT:
		ret = units_time(value, &v, err);
		if (!ret && v && c->loss == TRAIL_MODE_OVERWRITE)
			ret = tr_fail_at(err, -EINVAL, value, 0, "loss_mode is overwrite, and who overwrites never waits for room");
		if (!ret)
			c->blocking = v;
		return ret;
	case CHANNEL_SWITCH_PERIOD:
		return store_period(value, &c->switch_period, err);
	case CHANNEL_READ_PERIOD:
		return store_period(value, &c->read_period, err);
	case CHANNEL_FILE_SIZE:
		ret = units_size(value, &v, err);
		if (!ret && v > FILE_MAX)
			ret = tr_fail_at(err, -EINVAL, value, 0, "more than 2^62 bytes");
		if (!ret)
			c->file_size = v;
		return ret;
	case CHANNEL_FILE_COUNT:
		ret = units_size(value, &v, err);
		if (!ret && v > FILES_MAX)
			ret = tr_fail_at(err, -EINVAL, value, 0, "more than %u files", FILES_MAX);
		if (!ret)
			c->file_count = (uint32_t)v;
		return ret;
	}
	return -EINVAL;
}

int channel_show(struct session *s, enum domain domain, const char *channel, enum channel_attr attr, struct md_buf *out)
{
	struct channel *c;

	pthread_mutex_lock(&s->tracer->lock);
	c = channel_find(s, domain, channel);
	if (c)
		show_attr(c, attr, out);
	pthread_mutex_unlock(&s->tracer->lock);
	return c ? 0 : -ENOENT;
}

int channel_store(struct session *s, enum domain domain, const char *channel, enum channel_attr attr, const char *value, struct tr_err *err)
{
	struct channel *c;
	int ret;

	pthread_mutex_lock(&s->tracer->lock);
	c = channel_find(s, domain, channel);
	ret = c ? store_attr(c, attr, value, err) : no_channel(err, channel);
	if (!ret) {
		if (attr == CHANNEL_ENABLED)
			session_apply(s);
		session_save(s);
		session_changed(s);
	}
	pthread_mutex_unlock(&s->tracer->lock);
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

void session_file_limits(struct session *s, bool kernel, const char *channel, uint64_t *size, uint32_t *count)
{
	struct channel *c;

	pthread_mutex_lock(&s->tracer->lock);
	c = channel_find(s, kernel ? DOMAIN_KERNEL : DOMAIN_USER, channel);
	*size = c ? c->file_size : 0;
	*count = c && c->file_size ? c->file_count : 0;
	pthread_mutex_unlock(&s->tracer->lock);
}

/* ---- rules ---- */

static int show_list(struct session *s, enum domain domain, const char *channel, bool contexts, struct md_buf *out)
{
	struct channel *c;

	pthread_mutex_lock(&s->tracer->lock);
	c = channel_find(s, domain, channel);
	if (c && contexts)
		context_list_print(&c->contexts, out);
	else if (c)
		rule_list_print(&c->rules, out);
	pthread_mutex_unlock(&s->tracer->lock);
	return c || !channel ? 0 : -ENOENT;
}

int events_show(struct session *s, enum domain domain, const char *channel, struct md_buf *out)
{
	return show_list(s, domain, channel, false, out);
}

int contexts_show(struct session *s, enum domain domain, const char *channel, struct md_buf *out)
{
	return show_list(s, domain, channel, true, out);
}

/* With the lock held. -EAGAIN: the plan has to be prepared before. */
static int store_rules(struct session *s, enum domain domain, const char *channel, const char *text, bool replace, struct rule_preparation **prep,
		       struct tr_err *err)
{
	struct rule_list none = { 0 }, rules = { 0 };
	struct channel *c = channel_find(s, domain, channel);
	bool fresh = false;
	int ret;

	if (s->gone)
		ret = gone(err);
	else if (!c && channel)
		ret = no_channel(err, channel);
	else
		ret = rule_list_apply(c ? &c->rules : &none, domain, text, replace, &rules, err);
	if (!ret)
		ret = domain_ops(s, domain)->check_rules(s, &rules, prep, err);
	if (!ret && !c) {
		c = channel_new(s, domain, SHORTCUT, s->next_channel);
		fresh = c != NULL;
		ret = c ? 0 : tr_fail(err, -ENOMEM, "out of memory");
	}
	if (!ret && s->active)
		ret = channel_start(c, err);
	if (ret) {
		rule_list_deinit(&rules);
		if (fresh)
			channel_drop(c);
		return ret;
	}
	rule_list_deinit(&c->rules);
	c->rules = rules;
	session_apply(s);
	session_save(s);
	session_changed(s);
	return channel_ops(c)->applied ? channel_ops(c)->applied(c, err) : 0;
}

int events_store(struct session *s, enum domain domain, const char *channel, const char *text, bool replace, struct tr_err *err)
{
	const struct domain_ops *ops = domain_ops(s, domain);
	struct rule_preparation *prep = NULL;
	uid_t owner;
	int ret;

	/* What was recorded until now is for the rules until now. */
	if (ops->drain)
		ops->drain(s);
	do {
		pthread_mutex_lock(&s->tracer->lock);
		owner = s->uid;
		ret = store_rules(s, domain, channel, text, replace, &prep, err);
		pthread_mutex_unlock(&s->tracer->lock);
	} while (ret == -EAGAIN && ops->prepare_rules && (ret = ops->prepare_rules(s, prep, owner, err)) == 0);
	if (ops->end_rules)
		ret = ops->end_rules(s, prep, ret, err);
	return ret;
}

/* ---- contexts ---- */

int contexts_store(struct session *s, enum domain domain, const char *channel, const char *text, bool replace, struct tr_err *err)
{
	struct context_list none = { 0 }, contexts = { 0 };
	struct channel *c;
	int ret;

	pthread_mutex_lock(&s->tracer->lock);
	c = channel_find(s, domain, channel);
	if (s->gone)
		ret = gone(err);
	else if (!c && channel)
		ret = no_channel(err, channel);
	else if (c && c->started)
		ret = tr_fail(err, -EBUSY, "contexts cannot change after the session was first started");
	else
		ret = context_list_apply(c ? &c->contexts : &none, domain, text, replace, true, &contexts, err);
	if (!ret && !c && !(c = channel_new(s, domain, SHORTCUT, s->next_channel)))
		ret = tr_fail(err, -ENOMEM, "out of memory");
	if (ret) {
		context_list_deinit(&contexts);
	} else {
		context_list_deinit(&c->contexts);
		c->contexts = contexts;
		session_save(s);
		session_changed(s);
	}
	pthread_mutex_unlock(&s->tracer->lock);
	return ret;
}

void available_contexts(struct md_buf *out)
{
	context_available(out);
}

/* ---- streams ---- */

static void add_counts(struct ring_counts *sum, const struct ring_counts *c)
{
	sum->recorded += c->recorded;
	sum->discarded += c->discarded;
	sum->overwritten += c->overwritten;
	sum->unfiltered += c->unfiltered;
	sum->bytes += c->bytes;
}

/* Whether hits may wait for room in the channel. 0 or -ENOENT. */
static int channel_blocking(struct session *s, enum domain domain, const char *channel, bool *blocks)
{
	const struct channel *c;

	pthread_mutex_lock(&s->tracer->lock);
	c = channel_find(s, domain, channel);
	*blocks = c && c->blocking;
	pthread_mutex_unlock(&s->tracer->lock);
	return c ? 0 : -ENOENT;
}

int channel_status(struct session *s, enum domain domain, const char *channel, struct md_buf *out)
{
	struct stream_set set;
	struct ring_counts sum = { 0 }, c;
	struct md_buf lines = MD_BUF_INIT;
	bool kernel = domain == DOMAIN_KERNEL, blocks;
	int ret;

	if (kernel)
		domains_drain(s);
	ret = channel_blocking(s, domain, channel, &blocks);
	if (!ret)
		ret = session_streams(s, channel, &set);
	if (ret)
		return ret;
	for (size_t i = 0; i < set.count; i++) {
		const struct stream *st = &set.streams[i];

		if (kernel != (st->trace->uid == KERNEL_UID))
			continue;
		ring_counts(st, &c);
		add_counts(&sum, &c);
		md_buf_printf(&lines, "stream %s/%s recorded %" PRIu64 " discarded %" PRIu64 " overwritten %" PRIu64
			      " bytes %" PRIu64 "\n", st->trace->owner, st->name, c.recorded, c.discarded, c.overwritten, c.bytes);
	}
	md_buf_printf(out, "events_recorded %" PRIu64 "\nevents_discarded %" PRIu64 "\nevents_overwritten %" PRIu64
		      "\nevents_unfiltered %" PRIu64 "\nbytes %" PRIu64 "\n", sum.recorded, sum.discarded, sum.overwritten,
		      sum.unfiltered, sum.bytes);
	if (blocks)
		md_buf_puts(out, "blocking " CHANNEL_BLOCKING_NOTE "\n");
	md_buf_put(out, lines.data, lines.len);
	md_buf_deinit(&lines);
	stream_set_deinit(&set);
	return 0;
}

static bool listed(const struct md_buf *names, const char *name)
{
	for (size_t at = 0; at < names->len; at += strlen(names->data + at) + 1)
		if (!strcmp(names->data + at, name))
			return true;
	return false;
}

/* Names that occur in a set of streams, each once: owners, or the streams of one owner. */
static int list_names(struct session *s, const char *channel, const char *owner, struct md_buf *names)
{
	struct stream_set set;
	bool kernel = owner && !strcmp(owner, OWNER_KERNEL);
	int ret = -ENOENT;

	if (kernel)
		domains_drain(s);
	if (channel_exists(s, kernel ? DOMAIN_KERNEL : DOMAIN_USER, channel))
		ret = session_streams(s, channel, &set);
	if (ret)
		return ret;
	for (size_t i = 0; i < set.count; i++) {
		const struct stream *st = &set.streams[i];
		const char *name = owner ? st->name : st->trace->owner;

		if (kernel != (st->trace->uid == KERNEL_UID))
			continue;
		if ((!owner || !strcmp(st->trace->owner, owner)) && !listed(names, name))
			md_buf_put(names, name, strlen(name) + 1);
	}
	stream_set_deinit(&set);
	return 0;
}

int owners_list(struct session *s, const char *channel, struct md_buf *names)
{
	return list_names(s, channel, NULL, names);
}

int owner_streams(struct session *s, const char *channel, const char *owner, struct md_buf *names)
{
	return list_names(s, channel, owner, names);
}
