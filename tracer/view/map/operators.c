// SPDX-License-Identifier: GPL-2.0-or-later
/* The operators of a map's rule, and their arguments. */
#include "tracer/view/map/parse.h"
#include "tracer/view/map/table.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
	const char *name;
	uint32_t slots;         /* 0: depends on the arguments */
} operators[] = {
	[MAP_COUNT] = { "count", 1 }, [MAP_SUM] = { "sum", 1 },    [MAP_MIN] = { "min", 1 },
	[MAP_MAX] = { "max", 1 },     [MAP_AVG] = { "avg", 1 },    [MAP_HIST] = { "hist", 66 },
	[MAP_LHIST] = { "lhist", 0 }, [MAP_TOPK] = { "topk", 0 },
};

#define OPERATORS (sizeof(operators) / sizeof(operators[0]))

int map_find_operator(struct token t)
{
	for (size_t i = 0; i < OPERATORS; i++)
		if (token_is(t, operators[i].name))
			return (int)i;
	return -1;
}

const char *map_foreign_operator(struct token t)
{
	static const char *const words[][2] = {
		{ "quantize", "hist" },   { "llquantize", "hist" }, { "histogram", "hist" },
		{ "lquantize", "lhist" }, { "average", "avg" },     { "mean", "avg" },
		{ "total", "sum" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (token_is(t, words[i][0]))
			return words[i][1];
	return NULL;
}

static int take_number(struct parse *p, int64_t *out)
{
	struct token t;
	char *end;

	if (!take_if(p, ","))
		return fail(p, p->at,
			    "expected a comma and a number: lhist(FIELD, MIN, MAX, STEP); "
			    "hist(FIELD) needs none");
	t = look(p);
	errno = 0;
	*out = strtoll(t.text, &end, 0);
	if (!t.len || errno || end != t.text + t.len)
		return fail(p, p->at, "expected a whole number");
	take(p);
	return 0;
}

static int take_intervals(struct parse *p, struct map_op *op)
{
	size_t at = p->at;
	uint64_t n;
	int ret = take_number(p, &op->from);

	ret = ret ? ret : take_number(p, &op->to);
	ret = ret ? ret : take_number(p, &op->step);
	if (ret)
		return ret;
	if (op->from >= op->to || op->step <= 0)
		return fail(p, at, "lhist(FIELD, MIN, MAX, STEP): MIN < MAX, 0 < STEP");
	n = ((uint64_t)op->to - (uint64_t)op->from - 1) / (uint64_t)op->step + 1;
	if (n > MAP_LHIST_MAX)
		return fail(p, at, "lhist has at most 1000 intervals");
	op->slots = (uint32_t)n + 2;    /* below and above, too */
	return 0;
}

static int take_k(struct parse *p, struct map_op *op)
{
	size_t at = p->at;
	int64_t k = 10;
	int ret = token_is(look(p), ",") ? take_number(p, &k) : 0;

	if (!ret && (k < 1 || k > MAP_TOP_MAX))
		return fail(p, at, "topk(FIELD, K): K is 1 to 100");
	op->slots = (uint32_t)k;
	return ret;
}

/* The arguments in brackets, or the field alone. */
static int take_arguments(struct parse *p, struct map_op *op)
{
	bool brackets = take_if(p, "(");
	size_t at = p->at;
	int ret;

	if (op->kind == MAP_TOPK && !brackets && isdigit((unsigned char)*look(p).text))
		return fail(p, p->at, "the number of keys has brackets: topk(K)");
	ret = map_take_field(p, &op->field);
	if (!ret && op->kind == MAP_LHIST && !brackets)
		return fail(p, at, "lhist(FIELD, MIN, MAX, STEP) has brackets; did you mean "
			    "'hist'?");
	if (!ret && op->kind == MAP_LHIST)
		ret = take_intervals(p, op);
	if (op->kind == MAP_TOPK)
		op->slots = 10;
	if (!ret && op->kind == MAP_TOPK && brackets)
		ret = take_k(p, op);
	if (!ret && brackets && !take_if(p, ")"))
		return fail(p, p->at, "expected )");
	return ret;
}

/* `topk(K)`, which is about keys and no operator. False: there is something else. */
static bool take_shown(struct parse *p, struct map_rule *r, int *ret)
{
	struct parse q = *p;
	struct token t;
	char *end;
	unsigned long k;

	if (!take_if(&q, operators[MAP_TOPK].name) || !take_if(&q, "("))
		return false;
	t = take(&q);
	if (!t.len || !isdigit((unsigned char)t.text[*t.text == '-' || *t.text == '+']))
		return false;
	k = strtoul(t.text, &end, 10);
	if (r->shown)
		*ret = fail(p, p->at, "topk(K) is there already: a rule has one number of keys");
	else if (end != t.text + t.len || k < 1 || k > MAP_SHOWN_MAX)
		*ret = fail(p, (size_t)(t.text - p->line), "topk(K): K is 1 to 4096");
	else if (!take_if(&q, ")"))
		*ret = fail(p, q.at, "expected )");
	r->shown = (uint32_t)k;
	p->at = q.at;
	return true;
}

static int no_operator(struct parse *p, const struct token *t)
{
	const char *names[OPERATORS], *near;

	for (size_t i = 0; i < OPERATORS; i++)
		names[i] = operators[i].name;
	if (token_is(*t, "if"))
		return fail(p, p->at, "'if' stands after the event, before 'by'; a pair has none");
	near = map_foreign_operator(*t);
	near = near ? near : nearest(t->text, t->len, names, OPERATORS);
	return tr_fail_at(p->err, -EINVAL, p->line, (int)p->at,
			  near ? "no such operator; did you mean '%s'?"
			       : "no such operator; there are count, sum, min, max, avg, hist, "
				 "lhist and topk",
			  near);
}

int map_take_operator(struct parse *p, struct map_rule *r)
{
	struct map_op *op = &r->ops[r->op_count];
	struct token t = look(p);
	int kind = map_find_operator(t), ret = 0;

	if (take_shown(p, r, &ret))
		return ret;
	if (r->op_count == MAP_OPERATORS_MAX)
		return fail(p, p->at, "a rule has at most 8 operators");
	if (kind < 0)
		return no_operator(p, &t);
	take(p);
	op->kind = (enum map_operator)kind;
	op->slots = operators[kind].slots;
	r->op_count++;
	if (op->kind != MAP_COUNT)
		ret = take_arguments(p, op);
	else if (take_if(p, "(") && !take_if(p, ")"))
		ret = fail(p, p->at, "count has no arguments");
	if (ret)
		return ret;
	if (asprintf(&op->label, op->kind == MAP_COUNT ? "%s" : "%s(%s)",
		     operators[kind].name, op->field.text) < 0) {
		op->label = NULL;
		return -ENOMEM;
	}
	/* The pair's time is no field of the event. */
	if (r->events[1] && op->field.text && !strcmp(op->field.text, "latency")) {
		free(op->field.text);
		op->field.text = NULL;
	}
	return 0;
}

int map_default_operator(struct map_rule *r)
{
	struct parse p = { .line = r->events[1] ? "hist(latency)" : "count" };

	return map_take_operator(&p, r);
}
