// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rules whose hits applications count: each event has a counter in the regions of a hidden session,
 * whose channel n is of the n-th such rule. A look adds them up.
 */
#include <string.h>

#include "tracer/base/ring/reader.h"
#include "tracer/view/map/map.h"

/* Caller holds map.lock. named: a file of the session has their name. */
static void set_counters(struct map *m, struct session *counters, bool named)
{
	pthread_mutex_lock(&m->tracer->lock);
	m->counters = counters;
	if (!named)
		m->counters_name[0] = 0;
	else if (counters)
		memcpy(m->counters_name, counters->name, sizeof(m->counters_name));
	pthread_mutex_unlock(&m->tracer->lock);
}

void map_counters_set(struct map *m, struct session *s, struct session *counters)
{
	set_counters(m, counters, true);
	session_lock(s);
	session_save(s);
	session_unlock(s);
}

void map_counters_claim(struct map *m)
{
	struct session *found;

	if (m->counters || !m->counters_name[0])
		return;
	found = hidden_claim(m->tracer, m->counters_name);
	set_counters(m, found, found != NULL);
}

void map_counters_close(struct map *m, bool keep)
{
	struct session *counters = m->counters;

	map_kernel_close(m, keep);
	if (keep) {     /* the list of sessions has the reference */
		set_counters(m, NULL, true);
		return;
	}
	set_counters(m, NULL, false);
	hidden_close(counters);
}

void map_counters_clear(struct map *m)
{
	m->counts_spoiled = false;
	if (!m->counters)
		return;
	session_lock(m->counters);
	hidden_clear(m->counters);
	session_unlock(m->counters);
}

/* The rule that the channel is of; NULL: none. */
static const struct map_rule *rule_of(const struct map *m, uint32_t channel, size_t *index)
{
	for (size_t i = 0; i < m->rules.count; i++)
		if (m->rules.rules[i].counts && !channel--) {
			*index = i;
			return &m->rules.rules[i];
		}
	return NULL;
}

static void add_count(struct map *m, const struct map_rule *r, struct map_state *st,
		      const struct md_event *e, uint64_t n)
{
	struct map_key key;
	struct map_row *row;

	key.len = 0;
	key.count = key.hex = key.single = 0;
	for (size_t i = 0; i < r->by_count; i++)
		map_key_add_name(&key, &r->by[i], e->name);
	st->events = add_saturated(st->events, n);
	row = map_get_row(m, r, st, &key);
	if (row)
		row->count = add_saturated(row->count, n);
	else
		st->left_out = add_saturated(st->left_out, n);
}

/* What one region says. The stream is of its first ring. */
static void add_region(struct map *m, const struct stream *s)
{
	const struct map_rule *r;
	struct map_state *st;
	size_t i;

	r = rule_of(m, s->class->id, &i);
	if (!r || s->region->geo.mode != TRAIL_MODE_COUNT)
		return;
	st = &m->states[i];
	for (uint32_t id = 0; id < s->region->geo.switch_count; id++) {
		const struct md_event *e = md_stream_event(s->class, id);
		uint64_t n = e ? region_count(s->region, id, &m->counts_spoiled) : 0;

		if (n)
			add_count(m, r, st, e, n);
	}
}

static void add_losses(struct map *m, const struct stream *s)
{
	uint64_t lost = ring_lost_total(s), cleared = ring_cleared_lost(s);
	size_t i;

	if (rule_of(m, s->class->id, &i) && lost > cleared)
		m->states[i].lost = add_saturated(m->states[i].lost, lost - cleared);
}

void map_counters_take(struct map *m)
{
	struct stream_set set;

	if (!m->counters || session_rings(m->counters, &set))
		return;
	for (size_t i = 0; i < m->rules.count; i++) {
		struct map_state *st = &m->states[i];

		if (!m->rules.rules[i].counts)
			continue;
		st->events = st->lost = st->left_out = 0;
		for (uint32_t n = 0; n < st->table.count; n++)
			st->table.rows[n]->count = 0;
	}
	for (size_t i = 0; i < set.count; i++) {
		if (!set.streams[i].ring)
			add_region(m, &set.streams[i]);
		add_losses(m, &set.streams[i]);
	}
	stream_set_deinit(&set);
}
