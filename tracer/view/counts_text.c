/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counts of a session as tables: `counts`, and `rules` of each domain. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/lexer.h"
#include "tracer/session/session.h"
#include "tracer/view/counts.h"

static const char *const domain_names[DOMAINS] = { [DOMAIN_USER] = "user",
						   [DOMAIN_KERNEL] = "kernel" };

/* A number; `-`: not known. */
static void put_count(struct md_buf *out, bool known, uint64_t n)
{
	if (known)
		md_buf_printf(out, " %" PRIu64, n);
	else
		md_buf_puts(out, " -");
}

/*
 * A loss is counted for the channel, not for an event. An event has none if the channel has none.
 */
static void put_event(const struct channel_count *c, const char *event, uint64_t recorded,
		      struct md_buf *out)
{
	md_buf_printf(out, "%s %s ", domain_names[c->domain], c->channel);
	if (!strcmp(event, "?"))
		md_buf_puts(out, event);
	else
		word_print(event, out);
	put_count(out, true, recorded);
	put_count(out, !c->discarded, 0);
	put_count(out, !c->overwritten, 0);
	put_count(out, !c->filtered, 0);
	md_buf_putc(out, '\n');
}

static void put_channel(const struct channel_count *c, struct md_buf *out)
{
	if (c->unnamed)
		put_event(c, "?", c->unnamed, out);
	md_buf_printf(out, "%s %s *", domain_names[c->domain], c->channel);
	put_count(out, true, c->recorded);
	put_count(out, true, c->discarded);
	put_count(out, true, c->overwritten);
	put_count(out, !c->filtered, 0);
	md_buf_putc(out, '\n');
}

/* Of a channel that has events of several owners. */
static void put_owners(const struct counts_table *t, const struct channel_count *c,
		       struct md_buf *out)
{
	size_t n = 0;

	for (size_t i = 0; c->domain == DOMAIN_USER && i < t->owner_count; i++)
		n += !strcmp(t->owners[i].channel, c->channel);
	for (size_t i = 0; n > 1 && i < t->owner_count; i++) {
		const struct owner_count *o = &t->owners[i];

		if (!strcmp(o->channel, c->channel))
			md_buf_printf(out, "%s %s */%s %" PRIu64 " %" PRIu64 " %" PRIu64 " -\n",
				      domain_names[c->domain], c->channel, o->owner, o->recorded,
				      o->discarded, o->overwritten);
	}
}

int counts_show(struct session *s, struct md_buf *out)
{
	struct counts_table t;
	int ret = counts_take(s, &t);
	size_t e = 0;

	md_buf_puts(out, "# domain channel event recorded discarded overwritten rejected\n");
	for (size_t i = 0; i < t.channel_count && !ret; i++) {
		const struct channel_count *c = &t.channels[i];

		for (; e < t.event_count && t.events[e].channel == c->channel; e++)
			put_event(c, t.events[e].event, t.events[e].recorded, out);
		put_channel(c, out);
		put_owners(&t, c, out);
	}
	counts_table_deinit(&t);
	return ret;
}

/* ---- rules ---- */

struct known_event {            /* as domain_ops.list_events lists it */
	const char *key, *name;
	int level;
};

struct known_events {
	struct md_buf text;
	struct known_event *all;        /* by name, each once */
	size_t count;
};

static int compare_known(const void *a, const void *b)
{
	const struct known_event *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	if (!c)
		c = strcmp(x->key, y->key);
	return c ? c : (x->level > y->level) - (x->level < y->level);
}

/* After one event of the list: a byte and two strings. */
static const char *skip_known(const char *p)
{
	p += 1 + strlen(p + 1) + 1;
	return p + strlen(p) + 1;
}

static int take_known(struct session *s, enum domain domain, struct known_events *out)
{
	const struct domain_ops *ops = s->tracer->domains[domain];
	const char *p, *end;
	size_t n = 0;

	*out = (struct known_events){ 0 };
	if (ops->list_events)
		UNLOCKED(s->tracer, ops->list_events(s, &out->text));
	if (out->text.failed)
		return -ENOMEM;
	end = out->text.data + out->text.len;
	for (p = out->text.data; p < end; n++)
		p = skip_known(p);
	out->all = malloc((n + 1) * sizeof(*out->all));
	if (!out->all)
		return -ENOMEM;
	n = 0;
	for (p = out->text.data; p < end; p = skip_known(p))
		out->all[n++] = (struct known_event){ .level = (uint8_t)*p,
						      .key = p + 1,
						      .name = p + 1 + strlen(p + 1) + 1 };
	qsort(out->all, n, sizeof(*out->all), compare_known);
	for (size_t i = 0; i < n; i++)
		if (!i || compare_known(&out->all[i], &out->all[i - 1]))
			out->all[out->count++] = out->all[i];
	return 0;
}

static void known_deinit(struct known_events *k)
{
	free(k->all);
	md_buf_deinit(&k->text);
}

static int compare_name(const void *name, const void *known)
{
	return strcmp(name, ((const struct known_event *)known)->name);
}

/* An event of the channel that was recorded, as rules see it. */
struct recorded_event {
	const char *key;
	int level;
	uint64_t recorded;
	size_t rules;           /* enabled rules of the channel that match it */
};

/* The recorded events of one channel. Returns an array that the caller frees; NULL: no memory. */
static struct recorded_event *take_recorded(const struct counts_table *t, enum domain domain,
					    const char *channel, const struct known_events *known,
					    const struct rule_list *rules, size_t *count)
{
	struct recorded_event *all = calloc(t->event_count + 1, sizeof(*all));

	*count = 0;
	for (size_t i = 0; i < t->event_count && all; i++) {
		const struct event_count *e = &t->events[i];
		struct recorded_event *r = &all[*count];
		const struct known_event *is;

		if (e->domain != domain || strcmp(e->channel, channel) != 0)
			continue;
		*r = (struct recorded_event){ e->event, e->level, e->recorded, 0 };
		is = domain == DOMAIN_KERNEL && known->count
			     ? bsearch(e->event, known->all, known->count, sizeof(*known->all),
				       compare_name)
			     : NULL;
		if (domain == DOMAIN_KERNEL)
			r->level = 0;
		if (is)
			r->key = is->key;
		for (size_t j = 0; j < rules->count; j++)
			r->rules += !rules->rules[j].disabled &&
				    rule_match(&rules->rules[j], r->key, r->level);
		(*count)++;
	}
	return all;
}

static void put_rule(const char *channel, const struct rule *r, const struct known_events *known,
		     const struct recorded_event *events, size_t count, struct md_buf *out)
{
	uint64_t hits = 0;
	size_t matched = 0;
	bool sure = true;

	for (size_t i = 0; i < known->count; i++)
		matched += known->all[i].level != KNOWN_EVENT_ABSENT &&
			   rule_match(r, known->all[i].key, known->all[i].level);
	for (size_t i = 0; i < count; i++) {
		const struct recorded_event *e = &events[i];

		if (!rule_match(r, e->key, e->level))
			continue;
		hits = add_saturated(hits, e->recorded);
		/* Of several rules with filters, any may have taken the event. */
		if ((r->filter || r->disabled) && e->rules > !r->disabled)
			sure = false;
	}
	md_buf_printf(out, "%s %zu", channel, matched);
	put_count(out, sure, hits);
	md_buf_printf(out, " %s%s\n", r->disabled ? "~" : "", r->text);
}

static int put_channel_rules(struct session *s, enum domain domain, const char *channel,
			     const struct counts_table *t, const struct known_events *known,
			     struct md_buf *out)
{
	struct rule_list rules = { 0 };
	struct recorded_event *events;
	struct md_buf text = MD_BUF_INIT;
	size_t count;
	int ret = events_show(s, domain, channel, &text);

	/* -ENOENT: the channel was removed meanwhile. */
	if (ret) {
		md_buf_deinit(&text);
		return ret == -ENOENT ? 0 : ret;
	}
	ret = rule_list_apply(NULL, domain, md_buf_str(&text), true, &rules, NULL);
	events = take_recorded(t, domain, channel, known, &rules, &count);
	if (!events)
		ret = -ENOMEM;
	for (size_t i = 0; i < rules.count && !ret; i++)
		put_rule(channel, &rules.rules[i], known, events, count, out);
	free(events);
	rule_list_deinit(&rules);
	md_buf_deinit(&text);
	return ret;
}

int rules_show(struct session *s, enum domain domain, struct md_buf *out)
{
	struct md_buf names = MD_BUF_INIT;
	struct known_events known;
	struct counts_table t;
	int ret = counts_take(s, &t);
	const char *name;

	if (!ret)
		ret = take_known(s, domain, &known);
	else
		known = (struct known_events){ 0 };
	channels_list(s, domain, &names);
	if (!ret && names.failed)
		ret = -ENOMEM;
	md_buf_puts(out, "# channel tracepoints hits rule\n");
	for (name = names.data; !ret && name < names.data + names.len; name += strlen(name) + 1)
		ret = put_channel_rules(s, domain, name, &t, &known, out);
	known_deinit(&known);
	counts_table_deinit(&t);
	md_buf_deinit(&names);
	return ret;
}
