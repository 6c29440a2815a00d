/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counts of a session as tables: `counts`, and `rules` of each domain. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/base/rows.h"
#include "tracer/base/rule/sample.h"
#include "tracer/session/session.h"
#include "tracer/view/counts.h"

static const char *const domain_names[DOMAINS] = { [DOMAIN_USER] = "user",
						   [DOMAIN_KERNEL] = "kernel" };

/*
 * A loss is counted for the channel, not for an event. An event has none if the channel has none.
 */
static void put_event(const struct channel_count *c, const char *event, uint64_t recorded,
		      struct rows *r)
{
	row_begin(r, NULL);
	cell_word(r, "domain", 0, domain_names[c->domain]);
	cell_word(r, "channel", 0, c->channel);
	/* (As a name, "?" would have quotes.) */
	if (strcmp(event, "?"))
		cell_name(r, "event", event);
	else
		cell_known_word(r, "event", 0, !r->json, event);
	cell_number(r, "recorded", 0, true, recorded);
	cell_number(r, "discarded", 0, !c->discarded, 0);
	cell_number(r, "overwritten", 0, !c->overwritten, 0);
	cell_number(r, "rejected", 0, !c->filtered, 0);
	row_end(r);
}

static void put_channel(const struct channel_count *c, struct rows *r)
{
	row_begin(r, NULL);
	cell_word(r, "domain", 0, domain_names[c->domain]);
	cell_word(r, "channel", 0, c->channel);
	if (!r->json)
		cell_word(r, "event", 0, "*");
	cell_number(r, "recorded", 0, true, c->recorded);
	cell_number(r, "discarded", 0, true, c->discarded);
	cell_number(r, "overwritten", 0, true, c->overwritten);
	cell_number(r, "rejected", 0, !c->filtered, 0);
	row_end(r);
}

/* `* /OWNER`, without the blank, in lines. */
static void cell_owner(struct rows *r, const char *owner)
{
	char text[80];

	snprintf(text, sizeof(text), "*/%s", owner);
	cell_word(r, r->json ? "owner" : "event", 0, r->json ? owner : text);
}

/* Of a channel that has events of several owners. */
static void put_owners(const struct counts_table *t, const struct channel_count *c, struct rows *r)
{
	size_t n = 0;

	for (size_t i = 0; c->domain == DOMAIN_USER && i < t->owner_count; i++)
		n += !strcmp(t->owners[i].channel, c->channel);
	for (size_t i = 0; n > 1 && i < t->owner_count; i++) {
		const struct owner_count *o = &t->owners[i];

		if (strcmp(o->channel, c->channel) != 0)
			continue;
		row_begin(r, NULL);
		cell_word(r, "domain", 0, domain_names[c->domain]);
		cell_word(r, "channel", 0, c->channel);
		cell_owner(r, o->owner);
		cell_number(r, "recorded", 0, true, o->recorded);
		cell_number(r, "discarded", 0, true, o->discarded);
		cell_number(r, "overwritten", 0, true, o->overwritten);
		if (!r->json)
			cell_number(r, "rejected", 0, false, 0);
		row_end(r);
	}
}

/* In lines, the sum of a channel follows its events. In JSON, each kind of rows is an array. */
enum { SHOW_EVENTS = 1, SHOW_CHANNELS = 2, SHOW_OWNERS = 4 };

static void put_table(const struct counts_table *t, unsigned int what, struct rows *r)
{
	size_t e = 0;

	for (size_t i = 0; i < t->channel_count; i++) {
		const struct channel_count *c = &t->channels[i];

		for (; e < t->event_count && t->events[e].channel == c->channel; e++)
			if (what & SHOW_EVENTS)
				put_event(c, t->events[e].event, t->events[e].recorded, r);
		if (what & SHOW_EVENTS && c->unnamed)
			put_event(c, "?", c->unnamed, r);
		if (what & SHOW_CHANNELS)
			put_channel(c, r);
		if (what & SHOW_OWNERS)
			put_owners(t, c, r);
	}
}

int counts_show(struct session *s, bool json, struct md_buf *out)
{
	struct rows r = { .out = out, .json = json };
	struct counts_table t;
	int ret = counts_take(s, &t);

	if (!ret && !json) {
		table_begin(&r, NULL,
			    "domain channel event recorded discarded overwritten rejected");
		put_table(&t, SHOW_EVENTS | SHOW_CHANNELS | SHOW_OWNERS, &r);
	} else if (!ret) {
		rows_begin(&r);
		table_begin(&r, "events", NULL);
		put_table(&t, SHOW_EVENTS, &r);
		table_end(&r);
		table_begin(&r, "channels", NULL);
		put_table(&t, SHOW_CHANNELS, &r);
		table_end(&r);
		table_begin(&r, "owners", NULL);
		put_table(&t, SHOW_OWNERS, &r);
		table_end(&r);
		rows_end(&r);
	}
	counts_table_deinit(&t);
	return ret;
}

/* ---- rules ---- */

struct known_events {
	struct known_event *all;        /* by name, each once; owned, with what they point at */
	size_t count;
	bool failed;                    /* no memory */
};

static int compare_known(const void *a, const void *b)
{
	const struct known_event *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	if (!c)
		c = event_key_compare(x->key, y->key);
	if (!c)
		c = x->absent - y->absent;
	return c ? c : (x->level > y->level) - (x->level < y->level);
}

static void free_known(const struct known_event *e)
{
	struct event_key *key = (struct event_key *)e->key;

	if (key)
		event_key_deinit(key);
	free(key);
	free((char *)e->name);
}

static void add_known(void *arg, const struct known_event *e)
{
	struct known_events *out = arg;
	struct known_event copy = *e;

	copy.key = event_key_dup(e->key);
	copy.name = strdup(e->name);
	if (copy.key && copy.name && array_double(out->all, out->count)) {
		out->all[out->count++] = copy;
	} else {
		free_known(&copy);
		out->failed = true;
	}
}

static int take_known(struct session *s, enum domain domain, struct known_events *out)
{
	const struct domain_ops *ops = s->tracer->domains[domain];
	size_t n;

	*out = (struct known_events){ 0 };
	if (ops->list_events)
		out->failed |= UNLOCKED(s->tracer, ops->list_events(s, add_known, out)) != 0;
	if (out->failed)
		return -ENOMEM;
	n = out->count;
	if (n)
		qsort(out->all, n, sizeof(*out->all), compare_known);
	out->count = 0;
	for (size_t i = 0; i < n; i++)
		if (!out->count || compare_known(&out->all[i], &out->all[out->count - 1]))
			out->all[out->count++] = out->all[i];
		else
			free_known(&out->all[i]);
	return 0;
}

static void known_deinit(struct known_events *k)
{
	for (size_t i = 0; i < k->count; i++)
		free_known(&k->all[i]);
	free(k->all);
}

static int compare_name(const void *name, const void *known)
{
	return strcmp(name, ((const struct known_event *)known)->name);
}

/* An event of the channel that was recorded, as rules see it. */
struct recorded_event {
	struct event_key key;           /* owns nothing */
	int level;
	uint64_t recorded;
	size_t rules;           /* enabled rules of the channel that match it */
	size_t kinds;           /* of samples that may be it: they have one name; 0: it is none */
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
		*r = (struct recorded_event){ *EVENT_KEY(e->event), e->level, e->recorded, 0, 0 };
		is = domain == DOMAIN_KERNEL && known->count
			     ? bsearch(e->event, known->all, known->count, sizeof(*known->all),
				       compare_name)
			     : NULL;
		if (domain == DOMAIN_KERNEL)
			r->level = 0;
		if (is)
			r->key = *is->key;
		for (int k = 0; sample_is_rule(r->key.place) && k < SAMPLE_KINDS; k++)
			r->kinds += sample_wanted(rules, (enum sample_kind)k, NULL) != 0;
		for (size_t j = 0; j < rules->count; j++)
			r->rules += !rules->rules[j].disabled &&
				    rule_match(&rules->rules[j], &r->key, r->level);
		(*count)++;
	}
	return all;
}

/* In lines, the text is to the end of the line, without quotes. */
static void cell_rule(struct rows *out, const struct rule *r)
{
	struct md_buf text = MD_BUF_INIT;

	md_buf_printf(&text, "%s%s", r->disabled ? "~" : "", r->text);
	cell_word(out, "rule", 0, md_buf_str(&text));
	out->out->failed |= text.failed;
	md_buf_deinit(&text);
}

static void put_rule(const char *channel, const struct rule *r, const struct known_events *known,
		     const struct recorded_event *events, size_t count, struct rows *out)
{
	uint64_t hits = 0;
	size_t matched = 0;
	bool sure = true, pending;

	for (size_t i = 0; i < known->count; i++)
		matched += !known->all[i].absent &&
			   rule_match(r, known->all[i].key, known->all[i].level);
	for (size_t i = 0; i < count; i++) {
		const struct recorded_event *e = &events[i];

		if (e->kinds ? r->kind != RULE_SAMPLES : !rule_match(r, &e->key, e->level))
			continue;
		hits = add_saturated(hits, e->recorded);
		sure = sure && e->kinds < 2;
		/* Of several rules with filters, any may have taken the event. */
		if ((r->filter || r->disabled) && e->rules > !r->disabled)
			sure = false;
	}
	pending = r->optional && !r->disabled && !matched;
	row_begin(out, NULL);
	cell_word(out, "channel", 0, channel);
	cell_number(out, "tracepoints", 0, true, matched);
	if (pending && !out->json)
		cell_word(out, "hits", 0, "pending");
	else
		cell_number(out, "hits", 0, sure, hits);
	if (pending && out->json)
		cell_number(out, "pending", 0, true, 1);
	cell_rule(out, r);
	row_end(out);
}

static int put_channel_rules(struct session *s, enum domain domain, const char *channel,
			     const struct counts_table *t, const struct known_events *known,
			     struct rows *out)
{
	struct recorded_event *events;
	struct rule_list rules;
	size_t count;
	int ret = channel_rules(s, domain, channel, &rules);

	if (ret)        /* -ENOENT: the channel was removed meanwhile */
		return ret == -ENOENT ? 0 : ret;
	events = take_recorded(t, domain, channel, known, &rules, &count);
	if (!events)
		ret = -ENOMEM;
	for (size_t i = 0; i < rules.count && !ret; i++)
		put_rule(channel, &rules.rules[i], known, events, count, out);
	free(events);
	rule_list_deinit(&rules);
	return ret;
}

static int put_domain_rules(struct session *s, enum domain domain, const struct counts_table *t,
			    struct rows *out)
{
	struct md_buf names = MD_BUF_INIT;
	struct known_events known;
	int ret = take_known(s, domain, &known);
	const char *name;

	channels_list(s, domain, &names);
	if (!ret && names.failed)
		ret = -ENOMEM;
	for (name = names.data; !ret && name < names.data + names.len; name += strlen(name) + 1)
		ret = put_channel_rules(s, domain, name, t, &known, out);
	known_deinit(&known);
	md_buf_deinit(&names);
	return ret;
}

int rules_show(struct session *s, enum domain domain, struct md_buf *out)
{
	struct rows r = { .out = out };
	struct counts_table t;
	int ret = counts_take(s, &t);

	table_begin(&r, NULL, "channel tracepoints hits rule");
	if (!ret)
		ret = put_domain_rules(s, domain, &t, &r);
	counts_table_deinit(&t);
	return ret;
}

int rules_show_json(struct session *s, struct md_buf *out)
{
	struct rows r = { .out = out, .json = true };
	struct counts_table t;
	int ret = counts_take(s, &t);

	rows_begin(&r);
	for (enum domain d = 0; d < DOMAINS && !ret; d++) {
		table_begin(&r, domain_names[d], NULL);
		ret = put_domain_rules(s, d, &t, &r);
		table_end(&r);
	}
	rows_end(&r);
	counts_table_deinit(&t);
	return ret;
}
