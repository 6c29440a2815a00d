/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of callstacks, by how often they occur. Private to view/. */
#ifndef TRACER_VIEW_FRAMES_H
#define TRACER_VIEW_FRAMES_H

#include "tracer/base/hash_table.h"
#include "tracer/view/merge.h"
#include "tracer/view/stack.h"

#define FRAMES_MAX 8192u        /* further functions are left out */

struct frame {
	struct symbol symbol;   /* offset: not used */
	uint64_t self;          /* events whose innermost frame it is */
	uint64_t total;         /* events that have it anywhere in the stack */
	uint64_t last;          /* number of the last of these events */
};

struct frames {
	struct stacks *stacks;
	uint64_t clock_offset;
	uint64_t events;        /* with a callstack */
	uint64_t left_out;      /* frames */
	struct frame *all;      /* owned */
	struct hash_table table;        /* of `all`, by names */
	struct stack stack;     /* of the current event */
};

/* *out stays NULL if no event can have a callstack. 0 or -errno. */
int frames_create(struct session *s, const struct merge *m, struct frames **out);
void frames_destroy(struct frames *f);  /* NULL is allowed */
/* Takes the cursor's event. f NULL is allowed. */
void frames_take(struct frames *f, const struct cursor *c);
/* Fills rows (FRAMES_MAX), the most frequent first. Returns their number. */
uint32_t frames_sort(const struct frames *f, const struct frame **rows);

#endif
