// SPDX-License-Identifier: GPL-2.0-or-later
/* The values of an event, as a key and as numbers of operators; the row of a key. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/view/map/map.h"

/* Adds a value of the event itself. False: it has none. */
static bool add_value(struct map_key *k, const struct map_field *f, const struct md_route *route,
		      const struct md_occurrence *o)
{
	char text[MAP_TEXT_MAX];
	struct map_value v;

	if (f->name) {
		map_key_add_name(k, f, o->event->name);
		return true;
	}
	v = map_read(o, route);
	if (v.kind == MAP_NOTHING) {
		v.kind = MAP_TEXT;
		v.text = text;
		v.len = map_read_array(o, route, text, sizeof(text));
		if (!v.len)
			return false;
	}
	map_key_add(k, &v);
	return true;
}

struct map_shape *map_make_shape(const struct map_rule *r, enum map_side side,
				 const struct md_stream *class, const struct md_event *e)
{
	size_t n = r->by_count + r->op_count + r->on_count;
	struct map_shape *s = calloc(1, sizeof(*s) + n * sizeof(s->routes[0]));
	struct md_route *to = s ? s->routes : NULL;

	if (!s)
		return NULL;
	s->event = e;
	for (size_t i = 0; i < r->by_count; i++)
		md_route_find(class, e, map_field_path(&r->by[i]), to++);
	for (size_t i = 0; i < r->op_count; i++, to++)
		if (r->ops[i].field.text)
			md_route_find(class, e, map_field_path(&r->ops[i].field), to);
	for (size_t i = 0; i < r->on_count; i++)
		md_route_find(class, e, r->on[side][i].text, to++);
	return s;
}

bool map_event_join(const struct map_rule *r, const struct map_shape *shape,
		    const struct md_occurrence *o, struct map_key *k)
{
	const struct md_route *on = shape->routes + r->by_count + r->op_count;

	for (size_t i = 0; i < r->on_count; i++)
		if (!add_value(k, &r->on[0][i], &on[i], o))
			return false;
	return true;
}

/* Adds value n of a first event, whose bytes begin at *at. */
static void add_kept(struct map_key *k, const struct map_first *f, uint32_t *at, uint32_t n)
{
	const uint8_t *p = f->bytes + *at;
	uint32_t len = map_key_value_size(p);

	memcpy(k->bytes + k->len, p, len);
	k->len += len;
	*at += len;
	k->hex |= (uint8_t)((f->hex >> n & 1) << k->count);
	k->single |= (uint8_t)((f->single >> n & 1) << k->count++);
}

bool map_event_key(const struct map_rule *r, const struct map_shape *shape,
		   const struct md_occurrence *o, const struct map_made *made, struct map_key *k)
{
	uint32_t at = 0, n = 0;

	for (size_t i = 0; i < r->by_count; i++)
		if (r->by[i].first)
			add_kept(k, made->first, &at, n++);
		else if (!add_value(k, &r->by[i], &shape->routes[i], o))
			return false;
	return true;
}

/* The number of one operator. False: the field is missing, or no number. */
static bool read_number(const struct map_rule *r, size_t i, const struct map_shape *shape,
			const struct md_occurrence *o, uint64_t latency,
			struct map_numbers *numbers)
{
	struct map_value v = { .kind = MAP_UNSIGNED, .u = latency };

	if (r->ops[i].field.text)
		v = map_read(o, &shape->routes[r->by_count + i]);
	numbers->v[i] = r->ops[i].kind == MAP_COUNT ? 0 : map_number(&v);
	numbers->real |= (uint8_t)((v.kind == MAP_FLOAT) << i);
	numbers->wide |= (uint8_t)((v.kind == MAP_FLOAT && !v.single) << i);
	return !isnan(numbers->v[i]);
}

bool map_event_numbers(const struct map_rule *r, const struct map_shape *shape,
		       const struct md_occurrence *o, const struct map_made *made,
		       struct map_numbers *numbers)
{
	for (size_t i = 0; i < r->op_count; i++)
		if (r->ops[i].field.first)
			numbers->v[i] = made->first->numbers.v[i];
		else if (!read_number(r, i, shape, o, made->latency, numbers))
			return false;
	if (made->first) {
		numbers->real |= made->first->numbers.real;
		numbers->wide |= made->first->numbers.wide;
	}
	return true;
}

bool map_event_first(const struct map_rule *r, const struct map_shape *shape,
		     const struct md_occurrence *o, struct map_first **first)
{
	struct map_numbers numbers = { 0 };
	struct map_first *f;
	struct map_key k;

	*first = NULL;
	k.len = 0;
	k.count = k.hex = k.single = 0;
	for (size_t i = 0; i < r->by_count; i++)
		if (r->by[i].first && !add_value(&k, &r->by[i], &shape->routes[i], o))
			return false;
	for (size_t i = 0; i < r->op_count; i++)
		if (r->ops[i].field.first && !read_number(r, i, shape, o, 0, &numbers))
			return false;
	f = malloc(sizeof(*f) + k.len);
	if (!f)
		return true;
	f->numbers = numbers;
	f->len = k.len;
	f->hex = k.hex;
	f->single = k.single;
	memcpy(f->bytes, k.bytes, k.len);
	*first = f;
	return true;
}

/* ---- rows ---- */

struct map_row *map_get_row(struct map *m, const struct map_rule *r, struct map_state *st,
			    const struct map_key *k)
{
	struct map_row *row = map_table_find(&st->table, k);
	size_t size, bytes_max = MAP_BYTES_MAX;

	/* A full table is asked at each event: before the share of the owner, which takes locks. */
	if (row || (st->table.count && st->table.count == st->table.max))
		return row;
	if (m->max_keys > MAP_KEYS_DEFAULT)
		bytes_max = bytes_max / MAP_KEYS_DEFAULT * m->max_keys;
	size = map_row_size(r, k);
	if (m->bytes + size > bytes_max || session_frozen(m->session, (int64_t)size))
		return NULL;
	if (!st->table.count)
		st->table.max = m->max_keys;
	row = map_table_add(&st->table, r, k);
	if (row)
		m->bytes += size;
	else
		session_frozen(m->session, -(int64_t)size);
	return row;
}

int64_t map_since(const struct map *m, const struct map_rule *r)
{
	bool counted = r ? r->counts : m->rules.count > 0;

	for (size_t i = 0; i < m->rules.count && !r; i++)
		counted = counted && m->rules.rules[i].counts;
	/* Pairs with hidden_clear, which does not hold map.lock. */
	return counted && m->counters ? __atomic_load_n(&m->counters->started, __ATOMIC_RELAXED)
				      : m->since;
}
