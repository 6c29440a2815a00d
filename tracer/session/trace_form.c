// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The form of a session's traces. Recorded times are always those of the tracer's clock, which is
 * near CLOCK_MONOTONIC: `tai` is an offset to CLOCK_TAI in place of CLOCK_REALTIME, with a name and
 * a UUID of its own. But with `plugin` they are those of the applications' clock plug-ins: the
 * first application whose events are recorded says which clock, and its zero is the epoch; the
 * session does not want applications with other clocks or none. CTF 1.8 and CTF 2 describe the
 * same packets: they differ in the metadata.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <uuid/uuid.h>

#include "tracer/session/session.h"
#include "tracer/session/trace_form.h"

/* Not the boot's id: for readers, clocks of one UUID are the same. */
static void tai_uuid(const struct clock *c, uint8_t uuid[16])
{
	uuid_generate_sha1(uuid, c->uuid, "tai", 3);
}

void trace_set_form(struct trace *t, const struct session *s)
{
	const struct clock *clock = &s->tracer->clock;

	t->md->clock_offset = session_clock_offset(s);
	t->md->clock_is_tai = s->clock_is_tai;
	t->md->is_ctf2 = s->is_ctf2;
	t->md->in_packets = s->in_packets;
	t->md->plugin = s->plugin;
	if (s->plugin.freq)
		memcpy(t->md->clock_uuid, s->plugin.uuid, 16);
	else if (s->clock_is_tai)
		tai_uuid(clock, t->md->clock_uuid);
	else
		memcpy(t->md->clock_uuid, clock->uuid, 16);
}

static uint64_t measure_offset(const struct session *s)
{
	return clock_measure_offset(&s->tracer->clock,
				    s->clock_is_tai ? CLOCK_TAI : CLOCK_REALTIME);
}

static void set_offset(struct session *s, uint64_t offset)
{
	__atomic_store_n(&s->clock_offset, offset, __ATOMIC_RELAXED);
	for (struct trace *t = s->traces; t; t = t->next) {
		pthread_mutex_lock(&t->lock);
		trace_set_form(t, s);
		pthread_mutex_unlock(&t->lock);
	}
}

void session_measure_clock(struct session *s)
{
	if (!s->clock_is_plugin)
		set_offset(s, measure_offset(s));
}

bool session_has_clock(const struct session *s, const struct md_clock *clock)
{
	if (!s->clock_is_plugin)
		return true;
	return clock && (!s->plugin.freq || (s->plugin.freq == clock->freq &&
					     !memcmp(s->plugin.uuid, clock->uuid, 16)));
}

void session_take_clock(struct session *s, const struct md_clock *clock)
{
	if (!s->clock_is_plugin || s->plugin.freq || !clock)
		return;
	s->plugin = *clock;
	set_offset(s, 0);
	session_save(s);
	session_changed(s);
}

static void show_clock(const struct session *s, struct md_buf *out)
{
	md_buf_puts(out, s->clock_is_plugin ? "mono tai [plugin]\n"
			 : s->clock_is_tai  ? "mono [tai] plugin\n"
					    : "[mono] tai plugin\n");
}

static int store_clock(struct session *s, const char *value, struct tr_err *err)
{
	bool tai = !strcmp(value, "tai"), plugin = !strcmp(value, "plugin");
	int ret;

	if (!tai && !plugin && strcmp(value, "mono") != 0)
		return tr_fail_at(err, -EINVAL, value, 0, "not one of mono, tai, plugin");
	session_lock(s);
	ret = session_may_set(s, err);
	if (!ret && (tai != s->clock_is_tai || plugin != s->clock_is_plugin)) {
		s->clock_is_tai = tai;
		s->clock_is_plugin = plugin;
		set_offset(s, tai      ? measure_offset(s)
			      : plugin ? 0
				       : s->tracer->clock.offset);
		session_save(s);
		session_changed(s);
	}
	session_unlock(s);
	return ret;
}

static void show_version(const struct session *s, struct md_buf *out)
{
	md_buf_puts(out, s->is_ctf2 ? "1.8 [2]\n" : "[1.8] 2\n");
}

static void show_metadata(const struct session *s, struct md_buf *out)
{
	md_buf_puts(out, s->in_packets ? "text [packets]\n" : "[text] packets\n");
}

static int store_flag(struct session *s, bool *flag, bool value, struct tr_err *err)
{
	int ret;

	session_lock(s);
	ret = session_may_set(s, err);
	if (!ret) {
		*flag = value;
		session_save(s);
		session_changed(s);
	}
	session_unlock(s);
	return ret;
}

static int store_version(struct session *s, const char *value, struct tr_err *err)
{
	bool two = !strcmp(value, "2");

	if (!two && strcmp(value, "1.8") != 0)
		return tr_fail_at(err, -EINVAL, value, 0, "not one of 1.8, 2");
	return store_flag(s, &s->is_ctf2, two, err);
}

static int store_metadata(struct session *s, const char *value, struct tr_err *err)
{
	bool packets = !strcmp(value, "packets");

	if (!packets && strcmp(value, "text") != 0)
		return tr_fail_at(err, -EINVAL, value, 0, "not one of text, packets");
	return store_flag(s, &s->in_packets, packets, err);
}

/* Times of the kernel, and those that tell a live reader how far it is, are not of this clock. */
static int start_form(struct session *s, struct tr_err *err)
{
	struct channel *c;

	if (!s->clock_is_plugin)
		return 0;
	if (s->live_period)
		return tr_fail(err, -EINVAL, "a session whose clock is plugin has no live_period");
	cds_list_for_each_entry(c, &s->channels, node)
		if (c->kernel)
			return tr_fail(err, -EINVAL,
				       "a session whose clock is plugin does not record the "
				       "kernel: record it in another session");
	return 0;
}

static void save_form(const struct session *s, struct md_buf *out)
{
	char uuid[37];

	if (!s->plugin.freq)
		return;
	uuid_unparse_lower(s->plugin.uuid, uuid);
	md_buf_printf(out, "plugin_clock %" PRIu64 " %s %s %s\n", s->plugin.freq, uuid,
		      s->plugin.name, s->plugin.description);
}

static bool restore_form(struct session *s, const char *key, const char *value)
{
	struct md_clock c = { 0 };
	char uuid[37];

	if (strcmp(key, "plugin_clock") != 0)
		return false;
	if (sscanf(value, "%" SCNu64 " %36s %63s %191[^\n]", &c.freq, uuid, c.name,
		   c.description) >= 3 && !uuid_parse(uuid, c.uuid)) {
		s->plugin = c;
		set_offset(s, 0);       /* the traces were restored before */
	}
	return true;
}

static void show_form(struct session *s, struct md_buf *out)
{
	if (s->plugin.freq)
		md_buf_printf(out, "plugin_clock %s %" PRIu64 " Hz\n", s->plugin.name,
			      s->plugin.freq);
}

static void exchange_forms(struct session *a, struct session *b)
{
	uint64_t offset = a->clock_offset;

	SWAP(a->is_ctf2, b->is_ctf2);
	SWAP(a->in_packets, b->in_packets);
	SWAP(a->clock_is_tai, b->clock_is_tai);
	SWAP(a->clock_is_plugin, b->clock_is_plugin);
	set_offset(a, b->clock_offset);
	set_offset(b, offset);
}

static const struct session_setting settings[] = {
	{ SESSION_CLOCK, show_clock, store_clock },
	{ SESSION_CTF_VERSION, show_version, store_version },
	{ SESSION_METADATA, show_metadata, store_metadata },
	{ 0 }
};

const struct session_part form_part = {
	.name = "form",
	.settings = settings,
	.save = save_form,
	.restore_line = restore_form,
	.exchange = exchange_forms,
	.start = start_form,
	.status = show_form,
};
