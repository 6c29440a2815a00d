// SPDX-License-Identifier: GPL-2.0-or-later
/* The rule `increments` of a map: actions of triggers add to its keys. */
#include <errno.h>
#include <string.h>

#include "tracer/view/map/map.h"

/* The state of the rule `increments`, and the rule; NULL: there is none. Caller holds map.lock. */
static struct map_state *find_increments(struct map *m, const struct map_rule **r)
{
	for (size_t i = 0; i < m->rules.count; i++)
		if (m->rules.rules[i].increments) {
			*r = &m->rules.rules[i];
			return &m->states[i];
		}
	return NULL;
}

int map_increment(struct session *s, enum domain domain, const char *name, const char *key,
		  uint64_t n, struct tr_err *err)
{
	const struct map_value value = { .kind = MAP_TEXT, .text = key, .len = strlen(key) };
	struct map *m = map_get(s, domain, name);
	const struct map_rule *r;
	struct map_state *st;
	struct map_row *row;
	struct map_key k;

	if (!m)
		return tr_fail(err, -ENOENT, "session '%.200s' has no map '%.128s' of this domain",
			       s->name, name);
	k.len = 0;
	k.count = k.hex = k.single = 0;
	map_key_add(&k, &value);
	pthread_mutex_lock(&m->lock);
	st = m->gone ? NULL : find_increments(m, &r);
	if (st) {
		map_hold_session(m, s);
		map_check_clear(m);
		st->events += n;
		row = map_get_row(m, r, st, &k);
		if (row) {
			row->count += n;        /* the rule has no other operator */
			map_row_change(&st->table, row);
		} else {
			st->left_out += n;
		}
		m->journal.changed = true;
		map_journal_write(m);
	}
	pthread_mutex_unlock(&m->lock);
	map_put(m);
	return st ? 0 : tr_fail(err, -ENOENT, "the map '%.128s' has no rule `increments`", name);
}
