/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/picture/flame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"
#include "tracer/base/hash.h"
#include "tracer/session/session.h"

#define NODES_MAX FLAME_NODES
#define NONE FLAME_NONE

/* The threads or processes that have no frame of their own share the last one. */
static const char others[] = "[others]";

/* The child of this name, a new one if there is none. NONE: there is no room. */
static uint32_t find_child(struct flame *v, uint32_t parent, const char *name, size_t n)
{
	uint64_t hash = hash_bytes(hash_step(v->nodes[parent].hash, '/'), name, n);
	struct flame_node *k;

	for (uint32_t at = 0, i; (i = hash_find(&v->table, hash, &at)) != HASH_NONE;)
		if (v->nodes[i].hash == hash)
			return i;
	if (v->table.count >= NODES_MAX - (name != others) || !hash_add(&v->table, hash))
		return NONE;
	k = &v->nodes[v->table.count - 1];
	*k = (struct flame_node){ .parent = parent, .child = NONE, .hash = hash,
			    .next = v->nodes[parent].child, .name = v->names.len, .name_len = n };
	md_buf_put(&v->names, name, n);
	return v->nodes[parent].child = v->table.count - 1;
}

static uint32_t find_symbol(struct flame *v, uint32_t parent, const struct symbol *symbol)
{
	struct md_buf *name = &v->name;
	const char *object = symbol->object ? symbol->object : "[unknown]";

	/* Names of files and functions may have any bytes. */
	md_buf_reset(name);
	if (!symbol->name && *object != '[')
		md_buf_putc(name, '[');
	md_name_event(symbol->name ? symbol->name : object, name);
	if (!symbol->name && *object != '[')
		md_buf_putc(name, ']');
	return name->failed ? NONE : find_child(v, parent, name->data, name->len);
}

/* The frame of a thread or process. */
static uint32_t find_root(struct flame *v, const char *name, size_t n)
{
	uint32_t i = find_child(v, 0, name, n);

	return i != NONE ? i : find_child(v, 0, others, strlen(others));
}

static uint32_t find_thread(struct flame *v, const struct timeline *t)
{
	return t->name_len ? find_root(v, t->name, t->name_len) : find_root(v, "?", 1);
}

static void add_begin(void *arg, const struct mark *k)
{
	const struct slice *outer = track_outer(k->track, k->slice);
	struct flame *v = arg;
	uint32_t parent = outer ? outer->mark : find_thread(v, k->track);

	k->slice->mark = parent == NONE ? NONE
					: find_child(v, parent, k->name->plain.p, k->name->plain.n);
}

/*
 * The slice adds this time to its frame, to the one below it and to the slice around it. Without a
 * frame, because there was no room, it adds the time to what is around it alone.
 */
static void add_time(struct flame *v, const struct mark *k, uint64_t time)
{
	struct slice *outer = track_outer(k->track, k->slice);
	uint32_t i = k->slice->mark;
	uint32_t parent = i != NONE ? v->nodes[i].parent : outer ? 0 : find_thread(v, k->track);

	if (i != NONE) {
		v->nodes[i].total += time;
		v->nodes[parent].inner += time;
	}
	if (outer) {
		outer->inner += time;
		return;
	}
	/* A thread's name and `all` have the time of what is on them. */
	v->nodes[parent].total += time;
	v->nodes[0].total += time;
}

static void add_end(void *arg, const struct mark *k)
{
	struct flame *v = arg;

	if (k->slice->mark != NONE)
		v->nodes[k->slice->mark].count++;
	add_time(v, k, k->time - k->slice->begin);
}

/* How long a slice without an end lasted is not known: its frame carries those on it. */
static void add_unended(void *arg, const struct mark *k)
{
	add_time(arg, k, k->slice->inner);
}

/* The frame on which the event's stack stands: its process. */
static uint32_t find_process(struct flame *v, const struct row *r)
{
	int i = row_find(r->stream->context, r->stream->context_count, "procname");
	struct text name;

	if (i < 0 || !md_value_string(&r->context[i], &name.p, &name.n) || !name.n)
		return 0;
	md_buf_reset(&v->name);
	md_value_put_text(name.p, name.n, &v->name);
	return v->name.failed ? NONE : find_root(v, v->name.data, v->name.len);
}

static void add_stack(void *arg, const struct row *r)
{
	struct flame *v = arg;
	uint32_t parent, i = 0;

	if (r->torn || !stacks_of(r->stream, r->class) ||
	    !stacks_read(v->m->stacks, session_clock_offset(v->m->s), r->cursor, &v->stack))
		return;
	v->nodes[0].total++;
	for (uint32_t n = v->stack.count + 1; n-- > 0; i = parent) {
		parent = n == v->stack.count ? find_process(v, r)
					     : find_symbol(v, i, &v->stack.frames[n]);
		if (parent == NONE)
			return;
		if (parent == 0)        /* no process is known */
			continue;
		v->nodes[i].inner++;
		v->nodes[parent].total++;
	}
}

/* ---- the order ---- */

static int compare_nodes(const void *a, const void *b, void *arg)
{
	const struct flame *v = arg;
	const struct flame_node *x = &v->nodes[*(const uint32_t *)a];
	const struct flame_node *y = &v->nodes[*(const uint32_t *)b];
	size_t n = x->name_len < y->name_len ? x->name_len : y->name_len;
	int order = memcmp(v->names.data + x->name, v->names.data + y->name, n);

	return order ? order : (x->name_len > y->name_len) - (x->name_len < y->name_len);
}

/* Frames beside each other are in the order of their names. */
static void sort_frames(struct flame *v)
{
	uint32_t *order = calloc(v->table.count, sizeof(*order));

	if (!order || v->names.failed) {
		v->m->err = -ENOMEM;
		free(order);
		return;
	}
	for (uint32_t i = 0; i < v->table.count; i++) {
		order[i] = i;
		v->nodes[i].child = NONE;
	}
	qsort_r(order + 1, v->table.count - 1, sizeof(*order), compare_nodes, v);
	/* The last name is put in front first. */
	for (uint32_t n = v->table.count; n-- > 1;) {
		struct flame_node *k = &v->nodes[order[n]], *parent = &v->nodes[k->parent];

		k->next = parent->child;
		parent->child = order[n];
	}
	free(order);
}

uint64_t flame_self(const struct flame *v, const struct flame_node *k)
{
	/* (Slices do not add to the inner time of `all`.) */
	bool own = k != v->nodes || v->by_stack;

	return own && k->total > k->inner ? k->total - k->inner : 0;
}

void flame_collect(struct flame *v, struct maker *m)
{
	static const struct track_form form = { .begin = add_begin, .end = add_end,
						.cut = add_unended, .leave = add_unended };

	*v = (struct flame){ .m = m };
	v->nodes = calloc(NODES_MAX, sizeof(*v->nodes));
	if (!v->nodes || !hash_add(&v->table, HASH_START)) {
		m->err = -ENOMEM;
		return;
	}
	md_buf_puts(&v->names, "all");
	v->nodes[0] = (struct flame_node){ .child = NONE, .next = NONE, .hash = HASH_START,
					   .name_len = 3 };
	v->by_stack = maker_names(m, false);
	if (v->by_stack)
		maker_run(m, ROW_VALUES, add_stack, v);
	else if (!m->err)
		v->dropped = tracks_run(m, &form, v);
	if (!v->by_stack)
		v->nodes[0].inner = v->nodes[0].total;
	if (!m->err)
		sort_frames(v);
}

void flame_deinit(struct flame *v)
{
	free(v->nodes);
	hash_deinit(&v->table);
	md_buf_deinit(&v->names);
	md_buf_deinit(&v->name);
}
