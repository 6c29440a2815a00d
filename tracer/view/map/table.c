// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/view/map/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/hash.h"

#define STEPS 64u               /* chosen collisions do not make a search longer */

/* ---- keys ---- */

/* Equal numbers of different types are equal keys. */
void map_key_add(struct map_key *k, const struct map_value *v)
{
	enum map_value_kind kind = v->text ? MAP_TEXT : v->kind;
	uint8_t *p = k->bytes + k->len;
	size_t n = v->len < MAP_TEXT_MAX ? v->len : MAP_TEXT_MAX;

	if (kind == MAP_SIGNED && v->i >= 0)
		kind = MAP_UNSIGNED;
	*p++ = (uint8_t)kind;
	if (kind == MAP_TEXT) {
		*p++ = (uint8_t)n;
		memcpy(p, v->text, n);
	} else {
		n = sizeof(v->u);
		memcpy(p, &v->u, n);
	}
	k->hex |= (uint8_t)(v->hex << k->count);
	k->single |= (uint8_t)(v->single << k->count++);
	k->len = (uint32_t)(p + n - k->bytes);
}

void map_key_add_name(struct map_key *k, const struct map_field *f, const char *event)
{
	map_key_add(k, &(struct map_value){ .kind = MAP_TEXT, .text = event,
					    .len = f->name == MAP_NAME_PROVIDER
							   ? strcspn(event, ":")
							   : strlen(event) });
}

bool map_key_next(const struct map_row *row, uint32_t *at, struct map_value *v)
{
	const uint8_t *p = row->key + *at;

	if (*at >= row->key_len)
		return false;
	*v = (struct map_value){ .kind = (enum map_value_kind)*p++ };
	if (v->kind == MAP_TEXT) {
		v->len = *p++;
		v->text = (const char *)p;
		p += v->len;
	} else {
		memcpy(&v->u, p, sizeof(v->u));
		p += sizeof(v->u);
	}
	*at = (uint32_t)(p - row->key);
	return true;
}

/* ---- rows ---- */

/* After the intervals of a histogram there is the sum of its numbers. */
static uint32_t room_of(const struct map_op *op)
{
	return op->slots + (op->kind == MAP_HIST || op->kind == MAP_LHIST);
}

static uint32_t slots_of(const struct map_rule *r, size_t ops)
{
	uint32_t n = 0;

	for (size_t i = 0; i < ops; i++)
		n += room_of(&r->ops[i]);
	return n;
}

const union map_slot *map_row_slots(const struct map_row *row, const struct map_rule *r, size_t op)
{
	return row->slots + slots_of(r, op);
}

size_t map_slots_size(const struct map_rule *r)
{
	return slots_of(r, r->op_count) * sizeof(union map_slot);
}

size_t map_row_size(const struct map_rule *r, const struct map_key *k)
{
	return sizeof(struct map_row) + map_slots_size(r) + k->len;
}

/* The key's place in t->slots, or a free one; t->size: neither was found. */
static uint32_t find_slot(const struct map_table *t, const struct map_key *k)
{
	uint64_t h = hash_bytes(HASH_START, k->bytes, k->len);
	uint32_t i = (uint32_t)(h ^ h >> 32) & (t->size - 1);

	for (uint32_t steps = 0; steps < STEPS; steps++, i = (i + 1) & (t->size - 1)) {
		const struct map_row *row = t->slots[i] ? t->rows[t->slots[i] - 1] : NULL;

		if (!row || (row->key_len == k->len && !memcmp(row->key, k->bytes, k->len)))
			return i;
	}
	return t->size;
}

struct map_row *map_table_find(const struct map_table *t, const struct map_key *k)
{
	uint32_t i = t->slots ? find_slot(t, k) : t->size;

	return i < t->size && t->slots[i] ? t->rows[t->slots[i] - 1] : NULL;
}

/* At most half of the slots are used. */
static bool make_room(struct map_table *t)
{
	if (!t->size)
		for (t->size = 2; t->size < 2 * t->max;)
			t->size *= 2;
	if (!t->slots)
		t->slots = calloc(t->size, sizeof(*t->slots));
	if (!t->rows)
		t->rows = calloc(t->max, sizeof(*t->rows));
	return t->slots && t->rows;
}

struct map_row *map_table_add(struct map_table *t, const struct map_rule *r,
			      const struct map_key *k)
{
	size_t size = map_row_size(r, k);
	struct map_row *row;
	uint32_t i;

	if (!make_room(t) || t->count == t->max || (i = find_slot(t, k)) == t->size)
		return NULL;
	row = calloc(1, size);
	if (!row)
		return NULL;
	row->key = (uint8_t *)row + size - k->len;
	row->key_len = k->len;
	row->hex = k->hex;
	row->single = k->single;
	memcpy(row->key, k->bytes, k->len);
	row->index = t->count;
	t->rows[t->count++] = row;
	t->slots[i] = t->count;
	return row;
}

void map_row_change(struct map_table *t, struct map_row *row)
{
	if (row->changed)
		return;
	row->changed = true;
	row->later = NULL;
	if (t->changed_last)
		t->changed_last->later = row;
	else
		t->changed = row;
	t->changed_last = row;
}

void map_table_written(struct map_table *t)
{
	for (struct map_row *row = t->changed; row; row = row->later)
		row->changed = false;
	t->changed = t->changed_last = NULL;
}

void map_table_deinit(struct map_table *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		free(t->rows[i]);
	free(t->rows);
	free(t->slots);
	*t = (struct map_table){ 0 };
}

/* ---- numbers ---- */

/* 0: negative; 1: zero; n + 2: from 2^n to 2^(n+1), of the whole part. */
static uint32_t log2_interval(long double v)
{
	uint64_t n;

	if (v <= -1)
		return 0;
	if (v < 1)
		return 1;
	n = v < 18446744073709551616.0L ? (uint64_t)v : UINT64_MAX;
	return 65 - (uint32_t)__builtin_clzll(n);
}

static uint32_t lhist_interval(const struct map_op *op, long double v)
{
	if (v < op->from)
		return 0;
	if (v >= op->to)
		return op->slots - 1;
	return 1 + (uint32_t)((v - op->from) / op->step);
}

static long double power_of_2(uint32_t n)
{
	return n < 64 ? (long double)(UINT64_C(1) << n) : 18446744073709551616.0L;
}

struct map_interval map_interval_of(const struct map_op *op, uint32_t i)
{
	struct map_interval n = { -(long double)INFINITY, (long double)INFINITY };

	if (op->kind == MAP_HIST) {
		if (i)
			n.from = i == 1 ? 0 : power_of_2(i - 2);
		n.to = !i ? 0 : i == 1 ? 1 : power_of_2(i - 1);
		return n;
	}
	if (i == op->slots - 1)
		n.from = op->to;
	else if (i)
		n.from = (long double)op->from + (long double)op->step * (i - 1);
	if (i < op->slots - 1)
		n.to = !i ? op->from : n.from + op->step;
	if (i && i < op->slots - 1 && n.to > op->to)
		n.to = op->to;
	return n;
}

/* Keeps the greatest, in falling order. */
static void add_top(const struct map_op *op, union map_slot *s, uint64_t count, long double v)
{
	uint32_t used = count < op->slots ? (uint32_t)count : op->slots, i = used;

	if (used == op->slots && v <= s[used - 1].v)
		return;
	i = used == op->slots ? used - 1 : used;
	for (; i && s[i - 1].v < v; i--)
		s[i].v = s[i - 1].v;
	s[i].v = v;
}

void map_row_add(struct map_row *row, const struct map_rule *r, const struct map_numbers *numbers)
{
	union map_slot *s = row->slots;

	for (size_t i = 0; i < r->op_count; s += room_of(&r->ops[i++])) {
		const struct map_op *op = &r->ops[i];
		long double v = numbers->v[i];

		switch (op->kind) {
		case MAP_COUNT:
			break;
		case MAP_SUM:
		case MAP_AVG:
			s->v += v;
			break;
		case MAP_MIN:
			s->v = !row->count || v < s->v ? v : s->v;
			break;
		case MAP_MAX:
			s->v = !row->count || v > s->v ? v : s->v;
			break;
		case MAP_HIST:
			s[log2_interval(v)].n++;
			s[op->slots].v += v;
			break;
		case MAP_LHIST:
			s[lhist_interval(op, v)].n++;
			s[op->slots].v += v;
			break;
		case MAP_TOPK:
			add_top(op, s, row->count, v);
			break;
		}
	}
	row->real |= numbers->real;
	row->wide |= numbers->wide;
	row->count++;
}
