/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compiles filters to programs (abi/filter_bytecode.h). Tests jump, and only forward, so a
 * condition is compiled with the two labels where it continues, one of which follows it.
 */
#include <stdlib.h>

#include "tracer/base/filter/codegen.h"

/* ---- words, labels and literals ---- */

size_t code_put(struct code *c, struct filter_word w)
{
	if (c->dead)
		return 0;
	if (c->count == CODE_WORDS) {
		c->full = true;
		return 0;
	}
	c->words[c->count] = w;
	return c->count++;
}

static void chain_jump(struct code *c, size_t at, struct label *to)
{
	if (!at)
		return;
	to->used = true;
	if (to->ends) {
		c->words[at].jump = to->ends;
		return;
	}
	to->walked = to->chain && to->walked < c->walked ? to->walked : c->walked;
	c->words[at].jump = to->chain;
	to->chain = (uint16_t)at;
}

void code_here(struct code *c, struct label *l)
{
	size_t at, before;

	if (!l->chain)
		return;
	for (at = l->chain; at; at = before) {
		before = c->words[at].jump;
		c->words[at].jump = (uint16_t)(c->count - at - 1);
	}
	if (c->dead || l->walked < c->walked)
		c->walked = l->walked;
	c->dead = false;
	*l = (struct label){ 0 };
}

void code_go(struct code *c, struct label *to)
{
	chain_jump(c, code_put(c, (struct filter_word){ .op = FILTER_JUMP }), to);
	c->dead = true;
}

void code_test(struct code *c, struct filter_word w, struct places p)
{
	if (!p.yes_follows)
		w.flag |= FILTER_SENSE;
	chain_jump(c, code_put(c, w), p.yes_follows ? p.no : p.yes);
}

uint32_t code_literal(struct code *c, const void *data, size_t n)
{
	size_t at = c->literals.len;

	if (c->dead)
		return 0;
	md_buf_put(&c->literals, data, n);
	return (uint32_t)at;
}

static bool has_literal(const struct filter_word *w)
{
	return w->op == FILTER_RANGE_64 || w->op == FILTER_RANGE_64_BE ||
	       w->op == FILTER_TEST_STRING || w->op == FILTER_MATCH ||
	       (w->op == FILTER_CONTEXT && w->b);
}

static int write_program(struct code *c, struct md_buf *out)
{
	uint8_t bytes[FILTER_WORD];
	size_t i, base = c->count * FILTER_WORD;

	while (c->literals.len % 8)
		md_buf_putc(&c->literals, '\0');
	if (c->literals.failed)
		return -ENOMEM;
	if (c->full || base + c->literals.len > TRAIL_PROGRAM_MAX)
		return -E2BIG;
	c->words[0] = (struct filter_word){ .op = FILTER_HEADER, .at = (uint32_t)c->count };
	c->words[0].a = FILTER_VERSION;
	for (i = 0; i < c->count; i++) {
		if (has_literal(&c->words[i]))
			c->words[i].a += (uint32_t)base;
		filter_put_word(bytes, c->words[i]);
		md_buf_put(out, bytes, sizeof(bytes));
	}
	md_buf_put(out, c->literals.data, c->literals.len);
	return out->failed ? -ENOMEM : 0;
}

/* ---- filters ---- */

enum verdict { NEVER, ALWAYS, DEPENDS };

/* A verdict, or -ENOMEM. A filter whose types clash is NEVER true. */
static int judge_filter(struct code *c, const struct filter *f)
{
	const struct filter_info *i;
	int ret;

	free(c->info);
	c->info = calloc(f->node_count, sizeof(*c->info));
	if (!c->info)
		return -ENOMEM;
	ret = filter_bind(f, c->e, c->info, NULL);
	if (ret)
		return ret == -EINVAL ? NEVER : ret;
	i = &c->info[f->root->id];
	if (i->missing)
		return NEVER;
	if (i->constant)
		return filter_truth(&i->value) == FILTER_HOLDS ? ALWAYS : NEVER;
	return !c->e->partial || filter_weaken(f, c->info) ? DEPENDS : ALWAYS;
}

/*
 * Compiles the filter of c->info. If it is false, the next filter decides; after the last one, the
 * program ends.
 */
static void compile_filter(struct code *c, const struct filter *f, bool last)
{
	size_t count = c->count, literals = c->literals.len;
	struct label yes = { .ends = FILTER_JUMP_TRUE };
	struct label no = { .ends = last ? FILTER_JUMP_FALSE : 0 };
	bool dead = c->dead;

	c->fail = &no;
	c->walked = 0;
	if (!last && c->info[f->root->id].fails)
		chain_jump(c, code_put(c, (struct filter_word){ .op = FILTER_BEGIN }), &no);
	code_condition(c, f->root, 0, (struct places){ &yes, &no, last });
	if (last && !c->dead) {
		code_put(c, (struct filter_word){ .op = FILTER_RETURN, .at = 1 });
		c->dead = yes.used = true;
	}
	if (yes.used) {
		code_here(c, &no);
		return;
	}
	/* No path leads to true: remove the words. */
	c->count = count;
	c->literals.len = literals;
	c->dead = dead;
}

static int compile_filters(struct code *c, const struct filter *const *filters, size_t count)
{
	size_t i, last = count;
	int v;

	for (i = 0; i < count; i++) {
		v = judge_filter(c, filters[i]);
		if (v < 0 || v == ALWAYS)
			return v;
		if (v == DEPENDS)
			last = i;
	}
	for (i = 0; i < count && !c->full; i++) {
		v = judge_filter(c, filters[i]);
		if (v < 0)
			return v;
		if (v == DEPENDS)
			compile_filter(c, filters[i], i == last);
	}
	return 0;
}

int filter_compile(const struct filter *const *filters, size_t count, const struct filter_event *e,
		   struct md_buf *out)
{
	struct code c = { .e = e, .count = 1 };
	int ret;

	c.words = malloc(CODE_WORDS * sizeof(*c.words));
	ret = c.words ? compile_filters(&c, filters, count) : -ENOMEM;
	if (!ret && c.count == 1)
		ret = c.full ? -E2BIG : 2;
	if (!ret) {
		code_put(&c, (struct filter_word){ .op = FILTER_RETURN });
		ret = write_program(&c, out);
	}
	free(c.words);
	free(c.info);
	md_buf_deinit(&c.literals);
	return ret;
}
