// SPDX-License-Identifier: GPL-2.0-or-later
/* First events of pairs, which wait for their second one, and the values of them that it gets. */
#include <stdlib.h>

#include "tracer/base/hash.h"
#include "tracer/view/map/map.h"

/* False: no memory. */
static bool make_room(const struct map_rule *r, struct map_state *st)
{
	if (!st->waiting) {
		st->waiting = calloc(1, sizeof(*st->waiting));
		if (st->waiting)
			pair_open_init(st->waiting);
	}
	if (r->has_first && !st->firsts)
		st->firsts = calloc(PAIR_WAITING, sizeof(*st->firsts));
	return st->waiting && (!r->has_first || st->firsts);
}

static size_t size_of(const struct map_first *f)
{
	return f ? sizeof(*f) + f->len : 0;
}

/* The values of the first event at this place, which are the caller's then. */
static struct map_first *take_first(struct map_state *st, uint32_t place)
{
	struct map_first *f = st->firsts[place];

	st->firsts[place] = NULL;
	st->first_bytes -= size_of(f);
	return f;
}

/* Takes the values over. False: there is no room for them. */
static bool keep_first(struct map_state *st, uint32_t place, struct map_first *f)
{
	free(take_first(st, place));
	if (!f || st->first_bytes + size_of(f) > MAP_BYTES_MAX) {
		free(f);
		return false;
	}
	st->firsts[place] = f;
	st->first_bytes += size_of(f);
	return true;
}

/* A thread of the kernel that begins again has lost an end. */
static bool nests(const struct map *m)
{
	return m->domain == DOMAIN_USER;
}

static enum map_pairing begin_pair(struct map *m, const struct map_rule *r, struct map_state *st,
				   const struct map_shape *shape, const struct md_occurrence *o,
				   const struct pair_open *key)
{
	struct map_first *first = NULL;
	struct pair_end end;

	if (r->has_first && !map_event_first(r, shape, o, &first))
		return PAIR_MISSING;
	map_journal_pair(m, r, MAP_SIDE_FIRST, key, first);
	pair_open_take(st->waiting, key, true, nests(m), &end);
	if (r->has_first)
		keep_first(st, end.place, first);
	return PAIR_WAITS;
}

void map_pair_repeat(struct map *m, const struct map_rule *r, struct map_state *st,
		     enum map_side side, const struct pair_open *key, struct map_first *first)
{
	bool begins = side == MAP_SIDE_FIRST, found;
	struct pair_end end;

	if (!make_room(r, st)) {
		free(first);
		return;
	}
	found = pair_open_take(st->waiting, key, begins, nests(m), &end);
	if (!r->has_first || !begins)
		free(first);
	else
		keep_first(st, end.place, first);
	if (found && r->has_first)
		free(take_first(st, end.place));
}

enum map_pairing map_pair_event(struct map *m, const struct map_rule *r, struct map_state *st,
				enum map_side side, const struct map_shape *shape,
				const struct cursor *c, struct map_made *made)
{
	const struct md_occurrence *o = &c->o;
	struct pair_open key = { .trace = m, .ts = o->ts, .at = { c->outage, m->outages.now } };
	struct pair_end end;
	struct map_key values;

	values.len = 0;
	values.count = values.hex = values.single = 0;
	if (!make_room(r, st) || !map_event_join(r, shape, o, &values))
		return PAIR_MISSING;
	key.a = hash_bytes(HASH_START, values.bytes, values.len);
	key.b = hash_bytes(key.a, values.bytes, values.len);
	if (side == MAP_SIDE_FIRST)
		return begin_pair(m, r, st, shape, o, &key);
	if (!pair_open_take(st->waiting, &key, false, nests(m), &end))
		return PAIR_ALONE;
	map_journal_pair(m, r, MAP_SIDE_LAST, &key, NULL);
	made->latency = end.ns;
	if (r->has_first)
		made->first = take_first(st, end.place);
	if (end.interrupted)
		return PAIR_ALONE;
	return made->first || !r->has_first ? PAIR_MADE : PAIR_NO_ROOM;
}

void map_outages_forget(struct map *m)
{
	for (size_t i = 0; i < m->rules.count && m->states; i++)
		for (uint32_t j = 0; m->states[i].waiting && j < PAIR_WAITING; j++)
			m->states[i].waiting->all[j].at = (struct outage_place){ 0 };
	outages_deinit(&m->outages);
	m->outages = (struct outages){ 0 };
}

void map_pairs_forget(struct map_state *st)
{
	for (uint32_t i = 0; st->firsts && i < PAIR_WAITING; i++)
		free(st->firsts[i]);
	free(st->firsts);
	free(st->waiting);
	st->firsts = NULL;
	st->waiting = NULL;
	st->first_bytes = 0;
}
