/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/view/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/base/hash.h"

int frames_create(struct session *s, const struct merge *m, struct frames **out)
{
	struct frames *f;
	bool found = false;
	int err;

	for (size_t i = 0; i < m->count; i++)
		found |= stacks_has(&m->cursors[i]->stream);
	if (!found)
		return 0;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->clock_offset = session_clock_offset(s);
	err = stacks_create(s, &f->stacks);
	if (err) {
		frames_destroy(f);
		return err;
	}
	*out = f;
	return 0;
}

void frames_destroy(struct frames *f)
{
	if (!f)
		return;
	stacks_destroy(f->stacks);
	free(f->all);
	hash_deinit(&f->table);
	free(f);
}

static const char *text_of(const char *name)
{
	return name ? name : "";
}

/* The frame of this function, or of this file without a name. NULL: there is no room. */
static struct frame *find_frame(struct frames *f, const struct symbol *symbol)
{
	/* A file that is known with and without its build id has each name twice. */
	uint64_t hash = hash_string(HASH_START, text_of(symbol->name));
	struct frame *one;

	hash = hash_string(hash_step(hash, ' '), text_of(symbol->object));
	for (uint32_t at = 0, i; (i = hash_find(&f->table, hash, &at)) != HASH_NONE;) {
		one = &f->all[i];
		if (!strcmp(text_of(one->symbol.name), text_of(symbol->name)) &&
		    !strcmp(text_of(one->symbol.object), text_of(symbol->object)))
			return one;
	}
	if (f->table.count == FRAMES_MAX || !array_double(f->all, f->table.count) ||
	    !hash_add(&f->table, hash))
		return NULL;
	one = &f->all[f->table.count - 1];
	*one = (struct frame){ .symbol = *symbol };
	return one;
}

void frames_take(struct frames *f, const struct cursor *c)
{
	struct frame *one;

	if (!f || !stacks_of(c->stream.class, c->o.event) ||
	    !stacks_read(f->stacks, f->clock_offset, c, &f->stack))
		return;
	f->events++;
	for (uint32_t i = 0; i < f->stack.count; i++) {
		one = find_frame(f, &f->stack.frames[i]);
		if (!one) {
			f->left_out++;
			continue;
		}
		one->self += !i;
		/* A function that calls itself counts once. */
		one->total += one->last != f->events;
		one->last = f->events;
	}
}

static int compare_frames(const void *a, const void *b)
{
	const struct frame *x = *(const struct frame *const *)a;
	const struct frame *y = *(const struct frame *const *)b;

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return strcmp(text_of(x->symbol.name), text_of(y->symbol.name));
}

uint32_t frames_sort(const struct frames *f, const struct frame **rows)
{
	for (uint32_t i = 0; i < f->table.count; i++)
		rows[i] = &f->all[i];
	qsort(rows, f->table.count, sizeof(const struct frame *), compare_frames);
	return f->table.count;
}
