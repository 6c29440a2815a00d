// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rules whose events the kernel counts by keys (kernel/count/). Their values are in the kernel; a
 * look makes rows of them. A rule is counted so from its first event on, or not before its values
 * are cleared: what the daemon has aggregated cannot be given to the kernel. The other way is open:
 * if an inclusion set comes, the daemon takes the rows over and continues.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/context/kernel_context.h"
#include "tracer/base/hash.h"
#include "tracer/kernel/counting.h"
#include "tracer/view/map/map.h"

#define BYTES_MAX (UINT64_C(64) << 20)  /* of the kernel's memory for one rule */

/* ---- what is to be counted ---- */

static bool set_item(const struct map_field *f, struct count_item *item)
{
	int kind;

	item->field = f->text;
	if (f->text[0] != '$')
		return !strpbrk(f->text, ".[");
	if (strncmp(f->text, "$ctx.", 5))
		return false;
	kind = kcontext_kind(f->text + 5, strlen(f->text + 5), true);
	item->field = NULL;
	item->context = kind < 0 ? 0 : (uint32_t)kind;
	return kind >= 0;
}

static bool set_number(const struct map_op *op, struct count_number *n)
{
	static const int kinds[] = {
		[MAP_SUM] = COUNT_SUM, [MAP_AVG] = COUNT_SUM, [MAP_MIN] = COUNT_LEAST,
		[MAP_MAX] = COUNT_MOST, [MAP_HIST] = COUNT_POWERS, [MAP_LHIST] = COUNT_STEPS,
	};

	if (op->kind == MAP_TOPK || !op->field.text || strpbrk(op->field.text, "$.["))
		return false;
	*n = (struct count_number){ .kind = (enum count_kind)kinds[op->kind],
				    .field = op->field.text, .slots = op->slots,
				    .from = op->from, .to = op->to, .step = op->step };
	return true;
}

static uint64_t identify(const struct map *m, size_t rule)
{
	uint64_t h = hash_string(HASH_START, m->session->name);

	h = hash_step(hash_string(h, m->name), rule);
	h = hash_step(hash_string(h, m->rules.rules[rule].text), m->max_keys);
	return h;
}

/* False: the kernel cannot count what the rule says. */
static bool make_spec(const struct map *m, size_t rule, struct count_spec *s)
{
	const struct map_rule *r = &m->rules.rules[rule];

	*s = (struct count_spec){ .keys = m->max_keys, .bytes_max = BYTES_MAX,
				  .identity = identify(m, rule) };
	if (r->pair || r->increments || r->counts || r->by_count > COUNT_KEY_MAX)
		return false;
	for (size_t i = 0; i < r->by_count; i++)
		if (!r->by[i].name && !set_item(&r->by[i], &s->items[s->item_count++]))
			return false;
	for (size_t i = 0; i < r->op_count; i++)
		if (r->ops[i].kind != MAP_COUNT &&
		    !set_number(&r->ops[i], &s->numbers[s->number_count++]))
			return false;
	return true;
}

/* ---- begin and end ---- */

/* Caller holds map.lock. session_clear reads it with tracer.lock. */
static void set_counts(struct map *m, size_t i, struct counts *c)
{
	pthread_mutex_lock(&m->tracer->lock);
	m->counted[i].counts = c;
	m->rules.rules[i].in_kernel = c != NULL;
	m->saved_in_kernel &= ~(UINT32_C(1) << i);
	m->saved_in_kernel |= (uint32_t)(c != NULL) << i;
	pthread_mutex_unlock(&m->tracer->lock);
}

static void forget_shapes(struct map *m, size_t i)
{
	struct map_shape *s;

	while ((s = m->counted[i].shapes)) {
		m->counted[i].shapes = s->next;
		free(s);
	}
}

static void close_counts(struct map *m, size_t i, bool keep)
{
	struct counts *c = m->counted[i].counts;

	if (!c)
		return;
	set_counts(m, i, NULL);
	session_frozen(m->session, -(int64_t)counts_memory(c));
	counts_close(c, keep);
	forget_shapes(m, i);
}

static bool open_counts(struct map *m, size_t i, bool adopt)
{
	struct count_spec spec;
	struct counts *c;

	if (!make_spec(m, i, &spec) ||
	    kernel_counts_open(m->tracer, &m->rules.rules[i].events[0], &spec, adopt, &c))
		return false;
	if (session_frozen(m->session, (int64_t)counts_memory(c))) {
		counts_close(c, false);
		return false;
	}
	set_counts(m, i, c);
	return true;
}

void map_kernel_close(struct map *m, bool keep)
{
	for (size_t i = 0; i < m->rules.count; i++)
		close_counts(m, i, keep);
}

bool map_kernel_adopt(struct map *m)
{
	bool all = true;

	for (size_t i = 0; i < m->rules.count; i++)
		if (m->rules.rules[i].in_kernel && !open_counts(m, i, true)) {
			set_counts(m, i, NULL);
			all = false;
		}
	return all;
}

/* Programs know no inclusion sets. */
static bool has_sets(const struct session *s)
{
	bool some = false;

	pthread_mutex_lock(&s->tracer->lock);
	for (int i = TRACK_PID; i < TRACK_ATTRS; i++)
		some |= i != TRACK_CGROUP && s->track[i].some;
	pthread_mutex_unlock(&s->tracer->lock);
	return some;
}

bool map_kernel_ends(const struct map *m, const struct session *s)
{
	bool some = false;

	for (size_t i = 0; i < m->rules.count; i++)
		some |= m->counted[i].counts != NULL;
	return some && has_sets(s);
}

void map_kernel_hand_over(struct map *m)
{
	for (size_t i = 0; i < m->rules.count; i++)
		if (m->counted[i].counts)
			counts_enable(m->counted[i].counts, false);
	map_kernel_take(m);
	map_kernel_close(m, false);
	for (size_t i = 0; i < m->rules.count; i++)
		for (uint32_t n = 0; n < m->states[i].table.count; n++)
			map_row_change(&m->states[i].table, m->states[i].table.rows[n]);
	m->journal.changed = true;
}

static bool is_new(const struct map_state *st)
{
	return !st->events && !st->lost && !st->missing && !st->table.count;
}

void map_kernel_follow(struct map *m, struct session *s, bool wanted)
{
	bool began = false;

	if (m->domain != DOMAIN_KERNEL)
		return;
	for (size_t i = 0; i < m->rules.count && wanted && !m->hidden && !has_sets(s); i++)
		if (!m->counted[i].counts && is_new(&m->states[i]))
			began |= open_counts(m, i, false);
	for (size_t i = 0; i < m->rules.count; i++)
		if (m->counted[i].counts)
			counts_enable(m->counted[i].counts, wanted);
	if (began) {
		session_lock(s);
		session_save(s);
		session_unlock(s);
	}
}

void map_kernel_clear(struct map *m)
{
	for (size_t i = 0; i < MAP_RULES_MAX; i++)
		if (m->counted[i].counts)
			counts_clear(m->counted[i].counts);
}

int64_t map_kernel_since(const struct map *m)
{
	int64_t since = 0, one;

	for (size_t i = 0; i < m->rules.count; i++) {
		one = m->counted[i].counts ? counts_since(m->counted[i].counts) : 0;
		if (one && (!since || one < since))
			since = one;
	}
	return since;
}

/* ---- read ---- */

struct taking {
	struct map *m;
	size_t rule;
	bool failed;
};

static const struct map_shape *find_shape(struct map *m, size_t i, const struct md_event *e)
{
	struct map_shape *s = m->counted[i].shapes;

	while (s && s->event != e)
		s = s->next;
	if (s)
		return s;
	s = map_make_shape(&m->rules.rules[i], MAP_SIDE_LAST, counts_class(m->counted[i].counts),
			   e);
	if (s) {
		s->next = m->counted[i].shapes;
		m->counted[i].shapes = s;
	}
	return s;
}

static void add_number(const struct map_op *op, union map_slot *to, bool first, long double value,
		       const uint64_t *slots)
{
	switch (op->kind) {
	case MAP_MIN:
		to->v = first || value < to->v ? value : to->v;
		break;
	case MAP_MAX:
		to->v = first || value > to->v ? value : to->v;
		break;
	case MAP_HIST:
	case MAP_LHIST:
		for (uint32_t i = 0; i < op->slots; i++)
			to[i].n += slots[i];
		to[op->slots].v += value;
		break;
	default:
		to->v += value;
	}
}

static void add_row(struct map_row *row, const struct map_rule *r, const struct count_result *c)
{
	size_t n = 0;

	for (size_t i = 0; i < r->op_count; i++) {
		/* (The row is the map's own.) */
		union map_slot *to = (union map_slot *)(uintptr_t)map_row_slots(row, r, i);

		if (r->ops[i].kind == MAP_COUNT)
			continue;
		add_number(&r->ops[i], to, !row->count, c->numbers[n].value, c->numbers[n].slots);
		n++;
	}
	row->count += c->events;
}

static void take_key(void *arg, const struct md_occurrence *o, const struct count_result *c)
{
	struct taking *t = arg;
	const struct map_rule *r = &t->m->rules.rules[t->rule];
	struct map_state *st = &t->m->states[t->rule];
	const struct map_shape *shape = find_shape(t->m, t->rule, o->event);
	struct map_made made = { 0 };
	struct map_row *row;
	struct map_key key;

	key.len = 0;
	key.count = key.hex = key.single = 0;
	st->events += c->events;
	if (!shape || !map_event_key(r, shape, o, &made, &key)) {
		st->missing += c->events;
		return;
	}
	row = map_get_row(t->m, r, st, &key);
	if (row)
		add_row(row, r, c);
	else
		st->left_out += c->events;
}

static void take_rule(struct map *m, size_t i)
{
	const struct map_rule *r = &m->rules.rules[i];
	struct map_state *st = &m->states[i];
	struct taking t = { .m = m, .rule = i };
	uint64_t left_out = 0, missed = 0;

	for (uint32_t n = 0; n < st->table.count; n++) {
		struct map_row *row = st->table.rows[n];

		row->count = 0;
		memset(row->slots, 0, map_slots_size(r));
	}
	st->events = st->missing = st->left_out = 0;
	if (counts_read(m->counted[i].counts, take_key, &t, &left_out, &missed))
		return;
	st->events += left_out;
	st->left_out += left_out;
	st->lost = missed;
}

void map_kernel_take(struct map *m)
{
	for (size_t i = 0; i < m->rules.count; i++)
		if (m->counted[i].counts)
			take_rule(m, i);
}
