// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Conditions about amounts. The engine's thread looks at them with the monitor_period of the
 * channel or channels. A condition is a hit when it becomes true, and again after it was false.
 */
#include <inttypes.h>
#include <string.h>

#include "tracer/base/ring/reader.h"
#include "tracer/trigger/trigger.h"

#define LOOK_AGAIN UINT64_C(1000000000) /* ns: for a session or channel that does not exist */

struct amount {
	struct values values;           /* first */
	enum condition_kind kind;
	uint64_t bytes, size;           /* buffer: of the fullest ring; consumed: bytes */
	uint64_t events;                /* discarded */
};

bool sample_is_for(enum condition_kind kind)
{
	return kind == CONDITION_BUFFER || kind == CONDITION_CONSUMED ||
	       kind == CONDITION_DISCARDED;
}

static uint64_t share_of(const struct amount *a)        /* hundredths of a percent */
{
	return a->size ? (uint64_t)((double)a->bytes * 10000 / (double)a->size) : 0;
}

static void print_amount(const struct values *v, bool json, struct md_buf *out)
{
	const struct amount *a = (const struct amount *)v;
	uint64_t share = share_of(a);

	if (a->kind == CONDITION_DISCARDED)
		md_buf_printf(out, json ? "\"events\":%" PRIu64 : "events = %" PRIu64, a->events);
	else if (a->kind == CONDITION_CONSUMED)
		md_buf_printf(out, json ? "\"bytes\":%" PRIu64 : "bytes = %" PRIu64, a->bytes);
	else
		md_buf_printf(out, json ? "\"bytes\":%" PRIu64 ",\"percent\":%" PRIu64 ".%02u"
					: "bytes = %" PRIu64 ", percent = %" PRIu64 ".%02u",
			      a->bytes, share / 100, (unsigned int)(share % 100));
}

/* Whether the condition is about this channel. */
static bool concerns(const struct condition *c, const struct channel *ch)
{
	return !c->has_channel ||
	       (ch->kernel == (c->domain == DOMAIN_KERNEL) && !strcmp(ch->name, c->channel));
}

/* ns between two looks: the shortest monitor_period; 0: none of the channels is monitored. */
static uint64_t period_of(struct session *s, const struct condition *c)
{
	uint64_t period = 0, ns;
	struct channel *ch;

	pthread_mutex_lock(&s->tracer->lock);
	cds_list_for_each_entry(ch, &s->channels, node) {
		ns = ch->monitor_period * 1000;
		if (ns && concerns(c, ch) && (!period || ns < period))
			period = ns;
	}
	pthread_mutex_unlock(&s->tracer->lock);
	return period;
}

/* The channel of the stream has a monitor_period. */
static bool is_monitored(struct session *s, const struct condition *c, const struct stream *st)
{
	enum domain domain = st->trace->uid == KERNEL_UID ? DOMAIN_KERNEL : DOMAIN_USER;
	struct channel *ch;
	bool yes;

	pthread_mutex_lock(&s->tracer->lock);
	ch = channel_find(s, domain, st->channel);
	yes = ch && ch->monitor_period && concerns(c, ch);
	pthread_mutex_unlock(&s->tracer->lock);
	return yes;
}

static void add_stream(const struct stream *st, bool has_output, struct amount *a)
{
	const struct region_geometry *geo = &st->region->geo;
	uint64_t head = region_head(st->region, st->ring), bytes;
	struct ring_counts counts;

	switch (a->kind) {
	case CONDITION_BUFFER:
		/* With an output, what is written has left the buffer. */
		bytes = has_output ? ring_unconsumed(st) : head - ring_oldest(st, head);
		a->size = geo->subbuf_size * geo->subbuf_count;
		if (bytes > a->bytes)
			a->bytes = bytes < a->size ? bytes : a->size;
		break;
	case CONDITION_CONSUMED:
		a->bytes = add_saturated(a->bytes, ring_written(st, head));
		break;
	default:
		ring_counts(st, &counts);
		a->events = add_saturated(a->events, counts.discarded);
	}
}

/* Without lock. 0 or -errno. */
static int measure(struct session *s, const struct condition *c, struct amount *a)
{
	struct stream_set set = { 0 };
	bool has_output;
	int ret;

	pthread_mutex_lock(&s->tracer->lock);
	has_output = session_must_finish(s);
	pthread_mutex_unlock(&s->tracer->lock);
	if (c->has_channel)
		domain_drain(s, c->domain);
	else
		domains_drain(s);
	ret = session_streams(s, c->has_channel ? c->channel : NULL, &set);
	for (size_t i = 0; !ret && i < set.count; i++)
		if (is_monitored(s, c, &set.streams[i]))
			add_stream(&set.streams[i], has_output, a);
	stream_set_deinit(&set);
	return ret;
}

static bool holds(const struct condition *c, const struct amount *a)
{
	uint64_t v = c->kind == CONDITION_DISCARDED ? a->events
		     : c->percent                   ? share_of(a)
						    : a->bytes;

	return c->below ? v < c->threshold : v > c->threshold;
}

/* Locked. */
static void judge(struct trigger *trigger, const struct amount *a)
{
	bool now = holds(&trigger->condition, a);

	if (now && !trigger->sample.holds) {
		trigger_hit(trigger, hit_time_now(trigger->tracer), &a->values);
		counters_save(trigger);
	}
	trigger->sample.holds = now;
}

void sample_look(struct trigger *trigger, uint64_t now)
{
	struct triggers *all = triggers_of(trigger->tracer);
	struct condition c;
	struct amount a = { { print_amount }, CONDITION_NONE, 0, 0, 0 };
	struct session_info info;
	struct session *s;
	uint64_t period = 0, version, hits, due;
	bool known = false;

	pthread_mutex_lock(&all->lock);
	c = trigger->condition;
	c.text = NULL;                  /* may be freed meanwhile */
	version = trigger->version;
	hits = trigger->hits;
	pthread_mutex_unlock(&all->lock);
	a.kind = c.kind;
	s = session_get(trigger->tracer, c.session);
	if (s) {
		session_info(s, &info);
		period = trigger_may_now(trigger, &info, false) ? period_of(s, &c) : 0;
		known = period && info.starts && !measure(s, &c, &a);
	}
	session_put(s);
	due = now + (period ? period : LOOK_AGAIN);
	pthread_mutex_lock(&all->lock);
	if (trigger->version != version || !trigger->enabled || trigger->gone) {
		due = 0;
	} else if (known) {
		judge(trigger, &a);
	} else {
		trigger->sample.holds = false;
	}
	trigger->sample.due = due;
	hits = trigger->hits - hits;
	pthread_mutex_unlock(&all->lock);
	runners_wake(all);
	if (hits)
		tracer_changed(trigger->tracer, trigger->name);
}

void sample_show_missing(struct tracer *t, const struct condition *c, struct md_buf *out)
{
	static const char *const domains[] = { [DOMAIN_USER] = "user", [DOMAIN_KERNEL] = "kernel" };
	struct session *s = session_get(t, c->session);
	bool channel = false, missing;

	if (s) {
		pthread_mutex_lock(&t->lock);
		channel = !c->has_channel || channel_find(s, c->domain, c->channel);
		pthread_mutex_unlock(&t->lock);
	}
	missing = s && channel && sample_is_for(c->kind) && !period_of(s, c);
	session_put(s);
	if (!s)
		md_buf_printf(out, "no_session %s\n", c->session);
	else if (!channel)
		md_buf_printf(out, "no_channel %s/%s/%s\n", c->session, domains[c->domain],
			      c->channel);
	else if (missing)
		md_buf_puts(out, "not_monitored the monitor_period of each channel is 0\n");
}
