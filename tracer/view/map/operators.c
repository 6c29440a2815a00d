// SPDX-License-Identifier: GPL-2.0-or-later
/* The operators of a map's rule, and their arguments. */
#include "tracer/view/map/parse.h"
#include "tracer/view/map/table.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/* Kind, name, numbers in a row of the table; 0: that depends on the arguments. */
#define OPERATORS(X)                                                                               \
	X(MAP_COUNT, "count", 1)                                                                   \
	X(MAP_SUM, "sum", 1)                                                                       \
	X(MAP_MIN, "min", 1)                                                                       \
	X(MAP_MAX, "max", 1)                                                                       \
	X(MAP_AVG, "avg", 1)                                                                       \
	X(MAP_HIST, "hist", 66)                                                                    \
	X(MAP_LHIST, "lhist", 0)                                                                   \
	X(MAP_TOPK, "topk", 0)

/* Words of other tools, and the operators that they mean. */
#define FOREIGN(X)                                                                                 \
	X("quantize", "hist")                                                                      \
	X("llquantize", "hist")                                                                    \
	X("histogram", "hist")                                                                     \
	X("lquantize", "lhist")                                                                    \
	X("average", "avg")                                                                        \
	X("mean", "avg")                                                                           \
	X("total", "sum")

static const struct {
	const char *name;
	uint32_t slots;
} operators[] = {
#define OPERATOR(kind, name, slots) [kind] = { name, slots },
	OPERATORS(OPERATOR)
};

#define OPERATOR_COUNT (sizeof(operators) / sizeof(operators[0]))

const char *const map_stops[] = {
	"by",
	"on",
#define OPERATOR_NAME(kind, name, slots) name,
	OPERATORS(OPERATOR_NAME)
#define FOREIGN_NAME(name, meant) name,
	FOREIGN(FOREIGN_NAME)
	NULL,
};

int map_find_operator(struct token t)
{
	for (size_t i = 0; i < OPERATOR_COUNT; i++)
		if (token_is(t, operators[i].name))
			return (int)i;
	return -1;
}

/* The operator that other tools call by this word; NULL: none. */
static const char *foreign_operator(struct token t)
{
	static const char *const words[][2] = {
#define FOREIGN_PAIR(name, meant) { name, meant },
		FOREIGN(FOREIGN_PAIR)
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (token_is(t, words[i][0]))
			return words[i][1];
	return NULL;
}

static int take_number(struct scan *s, int64_t *out)
{
	struct token t;
	char *end;

	if (!scan_take_if(s, ","))
		return scan_fail(s, s->at, "expected a comma and a number: lhist(FIELD, MIN, MAX, "
				 "STEP); hist(FIELD) needs none");
	t = scan_look(s);
	errno = 0;
	*out = strtoll(t.text, &end, 0);
	if (!t.len || errno || end != t.text + t.len)
		return scan_fail(s, s->at, "expected a whole number");
	scan_take(s);
	return 0;
}

static int take_intervals(struct scan *s, struct map_op *op)
{
	size_t at = s->at;
	uint64_t n;
	int ret = take_number(s, &op->from);

	ret = ret ? ret : take_number(s, &op->to);
	ret = ret ? ret : take_number(s, &op->step);
	if (ret)
		return ret;
	if (op->from >= op->to || op->step <= 0)
		return scan_fail(s, at, "lhist(FIELD, MIN, MAX, STEP): MIN < MAX, 0 < STEP");
	n = ((uint64_t)op->to - (uint64_t)op->from - 1) / (uint64_t)op->step + 1;
	if (n > MAP_LHIST_MAX)
		return scan_fail(s, at, "lhist has at most 1000 intervals");
	op->slots = (uint32_t)n + 2;    /* below and above, too */
	return 0;
}

static int take_k(struct scan *s, struct map_op *op)
{
	size_t at = s->at;
	int64_t k = 10;
	int ret = token_is(scan_look(s), ",") ? take_number(s, &k) : 0;

	if (!ret && (k < 1 || k > MAP_TOP_MAX))
		return scan_fail(s, at, "topk(FIELD, K): K is 1 to 100");
	op->slots = (uint32_t)k;
	return ret;
}

/* The arguments in brackets, or the field alone. */
static int take_arguments(struct scan *s, const struct map_rule *r, struct map_op *op)
{
	bool brackets = scan_take_if(s, "(");
	size_t at = s->at;
	int ret;

	if (op->kind == MAP_TOPK && !brackets && isdigit((unsigned char)*scan_look(s).text))
		return scan_fail(s, s->at, "the number of keys has brackets: topk(K)");
	ret = map_take_field(s, r, &op->field);
	if (!ret && op->kind == MAP_LHIST && !brackets)
		return scan_fail(s, at,
				 "lhist(FIELD, MIN, MAX, STEP) has brackets; did you mean 'hist'?");
	if (!ret && op->kind == MAP_LHIST)
		ret = take_intervals(s, op);
	if (op->kind == MAP_TOPK)
		op->slots = 10;
	if (!ret && op->kind == MAP_TOPK && brackets)
		ret = take_k(s, op);
	if (!ret && brackets && !scan_take_if(s, ")"))
		return scan_fail(s, s->at, "expected )");
	return ret;
}

/* `topk(K)`, which is about keys and no operator. False: there is something else. */
static bool take_shown(struct scan *s, struct map_rule *r, int *ret)
{
	struct scan q = *s;
	struct token t;
	char *end;
	unsigned long k;

	if (!scan_take_if(&q, operators[MAP_TOPK].name) || !scan_take_if(&q, "("))
		return false;
	t = scan_take(&q);
	if (!t.len || !isdigit((unsigned char)t.text[*t.text == '-' || *t.text == '+']))
		return false;
	k = strtoul(t.text, &end, 10);
	if (r->shown)
		*ret = scan_fail(s, s->at,
				 "topk(K) is there already: a rule has one number of keys");
	else if (end != t.text + t.len || k < 1 || k > MAP_SHOWN_MAX)
		*ret = scan_fail(s, (size_t)(t.text - s->line), "topk(K): K is 1 to 4096");
	else if (!scan_take_if(&q, ")"))
		*ret = scan_fail(s, q.at, "expected )");
	r->shown = (uint32_t)k;
	s->at = q.at;
	return true;
}

static int no_operator(struct scan *s, const struct token *t)
{
	const char *names[OPERATOR_COUNT], *near;

	for (size_t i = 0; i < OPERATOR_COUNT; i++)
		names[i] = operators[i].name;
	if (token_is(*t, "if"))
		return scan_fail(s, s->at,
				 "'if' stands after its event, before 'on' and 'by'");
	near = foreign_operator(*t);
	near = near ? near : nearest(t->text, t->len, names, OPERATOR_COUNT);
	return scan_fail(s, s->at,
			 near ? "no such operator; did you mean '%s'?"
			      : "no such operator; there are count, sum, min, max, avg, hist, "
				"lhist and topk",
			 near);
}

int map_take_operator(struct scan *s, struct map_rule *r)
{
	struct map_op *op = &r->ops[r->op_count];
	struct token t = scan_look(s);
	int kind = map_find_operator(t), ret = 0;

	if (take_shown(s, r, &ret))
		return ret;
	if (r->op_count == MAP_OPERATORS_MAX)
		return scan_fail(s, s->at, "a rule has at most 8 operators");
	if (kind < 0)
		return no_operator(s, &t);
	scan_take(s);
	op->kind = (enum map_operator)kind;
	op->slots = operators[kind].slots;
	r->op_count++;
	if (op->kind != MAP_COUNT)
		ret = take_arguments(s, r, op);
	else if (scan_take_if(s, "(") && !scan_take_if(s, ")"))
		ret = scan_fail(s, s->at, "count has no arguments");
	if (ret)
		return ret;
	if (asprintf(&op->label, op->kind == MAP_COUNT ? "%s" : "%s(%s)",
		     operators[kind].name, op->field.text) < 0) {
		op->label = NULL;
		return -ENOMEM;
	}
	/* The pair's time is no field of the event. */
	if (r->pair && op->field.text && !strcmp(op->field.text, "latency")) {
		free(op->field.text);
		op->field.text = NULL;
	}
	return 0;
}

int map_default_operator(struct map_rule *r)
{
	return map_take_operator(SCAN(r->pair ? "hist(latency)" : "count", 0, NULL), r);
}
