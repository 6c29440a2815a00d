// SPDX-License-Identifier: GPL-2.0-or-later
/* The hidden session of a map: when it has one, and what it records. */
#include "tracer/app/agent/server.h"
#include "tracer/kernel/available.h"
#include "tracer/view/map/map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX ".map-"
#define SUBBUF_COUNT 8u

/* Channels of the rules that record, of those that count, of all. */
enum which { RULES_RECORD, RULES_COUNT, RULES_ALL };

static uint32_t channels_of(const struct map_rule *r, enum which which)
{
	uint32_t counted = r->counts && which != RULES_RECORD;

	return counted ? 1 : which != RULES_COUNT ? map_rule_channels(r) : 0;
}

static uint32_t channel_count(const struct map_rules *r, enum which which)
{
	uint32_t n = 0;

	for (size_t i = 0; i < r->count; i++)
		n += channels_of(&r->rules[i], which);
	return n;
}

/* Fields and contexts of a rule. */
#define NAMED_MAX (2 * MAP_FIELDS_MAX + MAP_OPERATORS_MAX)
_Static_assert(NAMED_MAX <= HIDDEN_FIELDS_MAX, "a channel takes all of them");

/* A channel of the hidden session, and the names that it needs with their places in the rule. */
struct plan {
	struct hidden_channel channel;
	const struct map_rule *rule;
	int event;                      /* 0, 1: of a pair */
	const char *contexts[NAMED_MAX], *fields[NAMED_MAX];
	int context_columns[NAMED_MAX], field_columns[NAMED_MAX];
};

static void add_name(struct plan *p, const struct map_field *f)
{
	const char *path;
	int skip, column;

	if (!f->text || f->name)
		return;
	path = map_field_path(f);
	column = f->column + (int)(path - f->text);
	if (*path != '$') {
		p->field_columns[p->channel.field_count] = column;
		p->fields[p->channel.field_count++] = path;
		return;
	}
	skip = strncmp(path, "$ctx.", 5) ? 0 : 5;
	p->context_columns[p->channel.context_count] = column + skip;
	p->contexts[p->channel.context_count++] = path + skip;
}

static void make_plan(struct plan *p, const struct map *m, const struct map_rule *r, int event)
{
	bool first = event < r->pair;

	*p = (struct plan){ .rule = r, .event = event };
	p->channel = (struct hidden_channel){
		.domain = m->domain, .rule = &r->events[event], .contexts = p->contexts,
		.fields = p->fields, .picks = !r->counts,
		.events = first ? "first events of the pair"
			  : r->pair ? "second events of the pair"
				    : "events of the rule",
		.loss = r->counts ? TRAIL_MODE_COUNT : TRAIL_MODE_DISCARD,
		.subbuf_size = m->buffer_size / SUBBUF_COUNT,
		.subbuf_count = SUBBUF_COUNT,
	};
	for (size_t i = 0; i < r->on_count; i++)
		add_name(p, &r->on[event][i]);
	for (size_t i = 0; i < r->by_count; i++)
		if (r->by[i].first == first)
			add_name(p, &r->by[i]);
	for (size_t i = 0; i < r->op_count; i++)
		if (r->ops[i].field.first == first)
			add_name(p, &r->ops[i].field);
}

/* The mistake is in a part of the rule, and err has columns of that part. */
static int explain(const struct plan *p, const struct hidden_mistake *what, int ret,
		   struct tr_err *err)
{
	int column = what->part == HIDDEN_CONTEXT ? p->context_columns[what->context]
		     : what->part == HIDDEN_FIELD ? p->field_columns[what->field]
						  : p->rule->columns[p->event];

	if (!ret || !err || what->part == HIDDEN_OTHER)
		return ret;
	snprintf(err->text, sizeof(err->text), "%s", p->rule->text);
	if (err->column >= 0)
		err->column += column;
	return ret;
}

/* Caller holds map.lock. */
static struct plan *make_plans(const struct map *m, const struct map_rules *rules,
			       enum which which)
{
	struct plan *plans = calloc(channel_count(rules, which) + 1, sizeof(*plans));
	size_t n = 0;

	for (size_t i = 0; i < rules->count && plans; i++)
		for (uint32_t event = 0; event < channels_of(&rules->rules[i], which); event++)
			make_plan(&plans[n++], m, &rules->rules[i], (int)event);
	return plans;
}

/* Caller holds map.lock. Takes the reference over. A file of the session has the name. */
static void set_hidden(struct map *m, struct session *hidden)
{
	pthread_mutex_lock(&m->tracer->lock);
	m->hidden = hidden;
	snprintf(m->hidden_name, sizeof(m->hidden_name), "%s", hidden ? hidden->name : "");
	pthread_mutex_unlock(&m->tracer->lock);
	session_lock(m->session);
	session_save(m->session);
	session_unlock(m->session);
}

/* Caller holds map.lock. Opens a hidden session of the map. 0 or -errno. */
static int open_hidden(struct map *m, struct session *s, enum which which, struct session **out,
		       struct tr_err *err)
{
	uint32_t count = channel_count(&m->rules, which);
	struct plan *plans = make_plans(m, &m->rules, which);
	struct hidden_channel *channels = calloc(count + 1, sizeof(*channels));
	struct session_info info = session_shown(s).info;
	struct hidden_spec spec = {
		.prefix = PREFIX, .owner = { info.uid, info.gid, info.groups }, .active = true,
		.survives = true, .tracks = s,
		.channels = channels, .channel_count = count,
	};
	struct hidden_mistake what;
	int ret = m->domain == DOMAIN_KERNEL ? kernel_refuses(m->tracer, &spec.owner, err) : 0;

	if (!ret && (!plans || !channels))
		ret = tr_fail(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < count && !ret; i++)
		channels[i] = plans[i].channel;
	if (!ret) {
		ret = hidden_open(m->tracer, &spec, out, &what, err);
		if (ret && what.channel < count)
			explain(&plans[what.channel], &what, ret, err);
	}
	if (!ret)
		agents_follow(*out);
	free(plans);
	free(channels);
	return ret;
}

void map_close_hidden(struct map *m)
{
	struct session *hidden = m->hidden;

	if (!hidden)
		return;
	map_set_live(m, false);
	hidden_enable(hidden, false);
	if (!m->gone)           /* else its values go, too */
		map_take(m);
	map_forget_shapes(m);
	set_hidden(m, NULL);
	hidden_close(hidden);
}

void map_leave_hidden(struct map *m)
{
	if (!m->hidden)
		return;
	map_set_live(m, false);
	map_forget_shapes(m);
	/* The list of sessions has the reference. */
	pthread_mutex_lock(&m->tracer->lock);
	m->hidden = NULL;
	pthread_mutex_unlock(&m->tracer->lock);
}

/* Caller holds map.lock. Takes over what an earlier daemon left. */
static void take_over(struct map *m, struct session *s)
{
	struct session *found;

	if (!m->restored)
		return;
	m->restored = false;
	map_hold_session(m, s);
	found = m->hidden_name[0] ? hidden_claim(m->tracer, m->hidden_name) : NULL;
	if (!map_kernel_adopt(m)) {
		/* Its channels are of other rules. */
		hidden_close(found);
		found = NULL;
	}
	if (found || m->hidden_name[0])
		set_hidden(m, found);
	if (!map_journal_read(m))
		map_forget_values(m);
	if (found)
		map_set_live(m, true);
}

void map_hold_session(struct map *m, struct session *s)
{
	if (!m->session)
		m->session = session_ref(s);
}

/* Caller holds map.lock. The rules whose events the daemon takes. 0 or -errno. */
static int follow_records(struct map *m, struct session *s, bool wanted, struct tr_err *err)
{
	struct session *hidden = NULL;
	int ret;

	if (m->hidden && session_shown(m->hidden).info.uid != session_shown(s).info.uid)
		map_close_hidden(m);
	if (!wanted || !channel_count(&m->rules, RULES_RECORD)) {
		map_close_hidden(m);
		return 0;
	}
	if (m->hidden) {
		hidden_track(m->hidden, s);
		return 0;
	}
	ret = open_hidden(m, s, RULES_RECORD, &hidden, err);
	if (ret)
		return ret;
	set_hidden(m, hidden);
	map_set_live(m, true);
	return 0;
}

/*
 * Caller holds map.lock. The rules whose hits applications count. Their counters stay while the
 * session is stopped, because they are the values. 0 or -errno.
 */
static int follow_counts(struct map *m, struct session *s, bool wanted, struct tr_err *err)
{
	struct session_info info = session_shown(s).info;
	struct session *counters = NULL;
	int ret;

	map_counters_claim(m);
	if (m->counters && session_shown(m->counters).info.uid != info.uid)
		session_chown(m->counters, info.uid, info.gid);
	if (m->counters) {
		hidden_track(m->counters, s);
		hidden_enable(m->counters, wanted);
		return 0;
	}
	if (!wanted || !channel_count(&m->rules, RULES_COUNT))
		return 0;
	ret = open_hidden(m, s, RULES_COUNT, &counters, err);
	if (!ret)
		map_counters_set(m, s, counters);
	return ret;
}

int map_follow(struct map *m, struct session *s, struct tr_err *err)
{
	struct session_info info = session_shown(s).info;
	bool wanted = info.active && !info.gone && m->rules.count && !m->gone && !s->draft;
	int ret, also;

	if (wanted || m->counters_name[0])
		map_hold_session(m, s);
	take_over(m, s);
	if (map_kernel_ends(m, s)) {
		map_close_hidden(m);    /* its channels are others then */
		map_kernel_hand_over(m);
	}
	map_kernel_follow(m, s, wanted);
	ret = follow_records(m, s, wanted, err);
	also = follow_counts(m, s, wanted, ret ? NULL : err);
	return ret ? ret : also;
}

int map_check_rules(struct map *m, struct session *s, const struct map_rules *rules,
		    struct tr_err *err)
{
	uint32_t count = channel_count(rules, RULES_ALL);
	struct plan *plans = make_plans(m, rules, RULES_ALL);
	struct hidden_mistake what;
	int ret = plans ? 0 : tr_fail(err, -ENOMEM, "out of memory");

	for (uint32_t i = 0; i < count && !ret; i++)
		ret = explain(&plans[i], &what,
			      hidden_check(s, &plans[i].channel, &what, err), err);
	free(plans);
	return ret;
}
