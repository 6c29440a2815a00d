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
	t->md->clock_is_tai = s->times == TIMES_TAI;
	t->md->is_ctf2 = s->is_ctf2;
	t->md->in_packets = s->in_packets;
	t->md->plugin = s->plugin;
	if (s->plugin.freq)
		memcpy(t->md->clock_uuid, s->plugin.uuid, 16);
	else if (s->times == TIMES_TAI)
		tai_uuid(clock, t->md->clock_uuid);
	else
		memcpy(t->md->clock_uuid, clock->uuid, 16);
}

static uint64_t measure_offset(const struct session *s)
{
	return clock_measure_offset(&s->tracer->clock,
				    s->times == TIMES_TAI ? CLOCK_TAI : CLOCK_REALTIME);
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
	if (s->times != TIMES_PLUGIN)
		set_offset(s, measure_offset(s));
}

bool session_has_clock(const struct session *s, const struct md_clock *clock)
{
	if (s->times != TIMES_PLUGIN)
		return true;
	return clock && (!s->plugin.freq || (s->plugin.freq == clock->freq &&
					     !memcmp(s->plugin.uuid, clock->uuid, 16)));
}

void session_take_clock(struct session *s, const struct md_clock *clock)
{
	if (s->times != TIMES_PLUGIN || s->plugin.freq || !clock)
		return;
	s->plugin = *clock;
	set_offset(s, 0);
	session_save(s);
	session_changed(s);
}

void session_times_changed(void *session)
{
	struct session *s = session;

	set_offset(s, s->times == TIMES_TAI      ? measure_offset(s)
		      : s->times == TIMES_PLUGIN ? 0
						 : s->tracer->clock.offset);
}

/* Times of the kernel, and those that tell a live reader how far it is, are not of this clock. */
static int start_form(struct session *s, struct tr_err *err)
{
	struct channel *c;

	if (s->times != TIMES_PLUGIN)
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

static void show_form(struct session *s, struct facts *out)
{
	if (s->plugin.freq)
		fact_text(out, "plugin_clock", "%s %" PRIu64 " Hz", s->plugin.name,
			  s->plugin.freq);
}

static void exchange_forms(struct session *a, struct session *b)
{
	uint64_t offset = a->clock_offset;

	set_offset(a, b->clock_offset);
	set_offset(b, offset);
}

const struct session_part form_part = {
	.name = "form",
	.save = save_form,
	.restore_line = restore_form,
	.exchange = exchange_forms,
	.start = start_form,
	.status = show_form,
};
