/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser of filters: operators and operands. See filter.h for the grammar. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/filter/parse.h"

/* An operator comes before those that are its prefix. */
static const struct binary {
	enum filter_operator op;
	int binds;                      /* precedence; higher binds tighter */
} binaries[] = {
	{ OP_LEFT, 8 }, { OP_RIGHT, 8 }, { OP_LE, 4 }, { OP_GE, 4 }, { OP_EQ, 3 }, { OP_NE, 3 },
	{ OP_BOTH, 2 }, { OP_EITHER, 1 }, { OP_LT, 4 }, { OP_GT, 4 },
	{ OP_AND, 7 }, { OP_XOR, 6 }, { OP_OR, 5 },
};

static struct filter_node *parse_expression(struct filter_parse *p, int binds);

bool filter_is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

void filter_blanks(struct filter_parse *p)
{
	while (p->line[p->at] == ' ' || p->line[p->at] == '\t')
		p->at++;
}

struct filter_node *filter_fail(struct filter_parse *p, size_t column, const char *fmt, ...)
{
	char sentence[sizeof(p->err->sentence)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	p->ret = tr_fail_at(p->err, -EINVAL, p->line, (int)column, "%s", sentence);
	return NULL;
}

struct filter_node *filter_no_memory(struct filter_parse *p)
{
	p->ret = tr_fail(p->err, -ENOMEM, "out of memory");
	return NULL;
}

struct filter_node *filter_node(struct filter_parse *p, enum filter_node_kind kind, size_t column)
{
	struct filter_node *n = calloc(1, sizeof(*n));

	if (!n)
		return filter_no_memory(p);
	n->kind = kind;
	n->column = (uint32_t)column;
	n->height = 1;
	n->id = p->f->node_count++;
	n->made = p->f->made;
	p->f->made = n;
	return n;
}

/* ---- operators ---- */

struct filter_node *filter_add_operand(struct filter_parse *p, struct filter_node *n,
				       struct filter_node *operand)
{
	if (n->last)
		n->last->next = operand;
	else
		n->first = operand;
	n->last = operand;
	if (n->height <= operand->height)
		n->height = operand->height + 1;
	if (n->height > FILTER_LEVELS_MAX)
		return filter_fail(p, n->column, "more than %d levels of operators",
				   FILTER_LEVELS_MAX);
	return n;
}

struct filter_node *filter_join(struct filter_parse *p, enum filter_operator op, size_t column,
				struct filter_node *left, struct filter_node *right)
{
	bool logic = op == OP_BOTH || op == OP_EITHER;
	struct filter_node *n;

	/* A chain is one node: a list of a hundred alternatives is one level deep. */
	if (logic && left->kind == NODE_LOGIC && left->op == op && !left->parens) {
		n = left;
	} else {
		n = filter_node(p, logic ? NODE_LOGIC : NODE_BINARY, column);
		if (!n)
			return NULL;
		n->op = op;
		if (!filter_add_operand(p, n, left))
			return NULL;
	}
	return filter_add_operand(p, n, right);
}

static const char *find_stop(const struct filter_parse *p)
{
	return scan_stop(&(struct scan){ p->line, p->at, NULL, p->stops });
}

/* Fails with a suggestion for operators of other languages, or a missing one. */
static struct filter_node *fail_operator(struct filter_parse *p)
{
	static const char *const mistakes[][2] = {
		{ "=<", "<=" }, { "=>", ">=" }, { "=~", "==" }, { "=", "==" }, { "and", "&&" },
		{ "or", "||" }, { "AND", "&&" }, { "OR", "||" }, { "eq", "==" }, { "ne", "!=" },
		{ "->", "." },
	};
	const char *s = p->line + p->at, *near;
	size_t i, len = strcspn(s, " \t(");

	for (i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		size_t n = strlen(mistakes[i][0]);

		if (!strncmp(s, mistakes[i][0], n) &&
		    (!filter_is_name(*s) || !filter_is_name(s[n])))
			return filter_fail(p, p->at, "'%s' is no operator; did you mean '%s'?",
					   mistakes[i][0], mistakes[i][1]);
	}
	for (i = 0; i < 2; i++) {
		static const char *const before[] = { "loglevel", "except" };
		size_t n = strlen(before[i]);

		if (!strncmp(s, before[i], n) && !filter_is_name(s[n]))
			return filter_fail(p, p->at, "'%s' stands before 'if'", before[i]);
	}
	near = scan_near_stop(&(struct scan){ .stops = p->stops }, s, len);
	if (near)
		return filter_fail(p, p->at, "no such keyword '%.*s'; did you mean '%s'?",
				   (int)len, s, near);
	if (strchr("+-*/%", *s))
		return filter_fail(p, p->at,
				   "there is no arithmetic in filters: '%c' cannot stand here", *s);
	if (*s == '!')
		return filter_fail(p, p->at, "'!' stands before one operand; did you mean '!='?");
	return filter_fail(p, p->at, "an operator such as '==' or '&&' is missing here");
}

/* The operator at p->at. NULL: the expression ends here, or p->ret has an error. */
static const struct binary *peek_operator(struct filter_parse *p)
{
	const char *s;
	size_t i;

	filter_blanks(p);
	s = p->line + p->at;
	if (!*s || *s == ')' || find_stop(p))
		return NULL;
	for (i = 0; i < sizeof(binaries) / sizeof(binaries[0]); i++) {
		const char *name = filter_operator_names[binaries[i].op];
		size_t n = strlen(name);

		if (strncmp(s, name, n))
			continue;
		if (!strncmp(s, "<>", 2))
			filter_fail(p, p->at, "'<>' is no operator; did you mean '!='?");
		else if ((n == 2 && s[n] == '=') ||
			 (n == 2 && name[0] == name[1] && s[n] == name[0]))
			filter_fail(p, p->at, "'%.3s' is no operator; did you mean '%s'?", s, name);
		return p->ret ? NULL : &binaries[i];
	}
	fail_operator(p);
	return NULL;
}

/* ---- operands ---- */

static struct filter_node *fail_operand(struct filter_parse *p)
{
	const char *s = p->line + p->at;
	size_t i;

	if (!*s)
		return filter_fail(p, p->at, "a value is missing at the end");
	if (*s == '\'')
		return filter_fail(p, p->at, "strings are written with double quotes: \"text\"");
	if (*s == ')')
		return filter_fail(p, p->at, "a value is missing before ')'");
	if (*s == '=' && s[1] != '=')
		return filter_fail(p, p->at, "a value is missing before '='");
	for (i = 0; i < sizeof(binaries) / sizeof(binaries[0]); i++) {
		const char *name = filter_operator_names[binaries[i].op];

		if (!strncmp(s, name, strlen(name)))
			return filter_fail(p, p->at, "a value is missing before '%s'", name);
	}
	if (*s > ' ' && *s < 0x7f)
		return filter_fail(p, p->at, "no value begins with '%c'; texts are in double "
				   "quotes", *s);
	return filter_fail(p, p->at, "a value such as a field's name is missing here");
}

/* p->at is the opening parenthesis. */
static struct filter_node *parse_parentheses(struct filter_parse *p)
{
	size_t column = p->at++;
	struct filter_node *n = parse_expression(p, 0);

	if (!n)
		return NULL;
	if (p->line[p->at] != ')')
		return filter_fail(p, column, "this '(' is never closed");
	p->at++;
	n->parens = true;
	return n;
}

static struct filter_node *parse_operand(struct filter_parse *p);

static struct filter_node *parse_unary(struct filter_parse *p, enum filter_operator op)
{
	struct filter_node *n, *of;
	size_t column = p->at++;

	of = parse_operand(p);
	if (!of)
		return NULL;
	n = filter_node(p, NODE_UNARY, column);
	if (!n)
		return NULL;
	n->op = op;
	return filter_add_operand(p, n, of);
}

static struct filter_node *parse_operand_inside(struct filter_parse *p)
{
	char c = p->line[p->at];

	switch (c) {
	case '(': return parse_parentheses(p);
	case '!': return parse_unary(p, OP_NOT);
	case '~': return parse_unary(p, OP_COMPLEMENT);
	case '-': return parse_unary(p, OP_MINUS);
	case '+': return parse_unary(p, OP_PLUS);
	case '"': return filter_parse_string(p);
	case '$': return filter_parse_context(p);
	default: break;
	}
	if ((c >= '0' && c <= '9') ||
	    (c == '.' && p->line[p->at + 1] >= '0' && p->line[p->at + 1] <= '9'))
		return filter_parse_number(p);
	if (filter_is_name(c))
		return filter_parse_field(p);
	return fail_operand(p);
}

static struct filter_node *parse_operand(struct filter_parse *p)
{
	struct filter_node *n;

	filter_blanks(p);
	if (p->depth == FILTER_LEVELS_MAX)
		return filter_fail(p, p->at, "more than %d levels of parentheses and operators",
				   FILTER_LEVELS_MAX);
	p->depth++;
	n = parse_operand_inside(p);
	p->depth--;
	return n;
}

/* Parses operators of precedence `binds` or higher. */
static struct filter_node *parse_expression(struct filter_parse *p, int binds)
{
	struct filter_node *left = parse_operand(p), *right;
	const struct binary *b;

	while (left) {
		size_t column;

		b = peek_operator(p);
		if (!b || b->binds < binds)
			return p->ret ? NULL : left;
		column = p->at;
		p->at += strlen(filter_operator_names[b->op]);
		right = parse_expression(p, b->binds + 1);
		left = right ? filter_join(p, b->op, column, left, right) : NULL;
	}
	return NULL;
}

/* ---- the whole ---- */

static int fail_too_long(struct filter_parse *p, size_t at)
{
	return tr_fail_at(p->err, -E2BIG, p->line, (int)at, "a condition has at most %u bytes",
			  FILTER_TEXT_MAX);
}

/* The printed text can be longer than the source; it must be accepted as input, too. */
static int check_printed(struct filter_parse *p, size_t at)
{
	struct md_buf text = MD_BUF_INIT;
	int ret = 0;

	filter_print(p->f, &text);
	if (text.failed)
		ret = tr_fail(p->err, -ENOMEM, "out of memory");
	else if (text.len > FILTER_TEXT_MAX)
		ret = fail_too_long(p, at);
	md_buf_deinit(&text);
	return ret;
}

/* Reports types that clash for every event. */
static int check_types(struct filter_parse *p)
{
	struct filter_info *info = calloc(p->f->node_count, sizeof(*info));
	int ret;

	if (!info)
		return tr_fail(p->err, -ENOMEM, "out of memory");
	ret = filter_bind(p->f, NULL, info, p->err);
	free(info);
	return ret;
}

static int parse_filter(struct filter_parse *p, size_t end)
{
	size_t begin;

	filter_blanks(p);
	begin = p->at;
	if (!p->line[p->at]) {
		filter_fail(p, p->at, "a condition is missing here, such as 'code >= 500'");
		return p->ret;
	}
	if (!p->stops && end - p->at > FILTER_TEXT_MAX)
		return fail_too_long(p, begin);
	p->f->root = parse_expression(p, 0);
	if (p->f->root && p->line[p->at] && !find_stop(p))
		filter_fail(p, p->at, "this ')' has no '('");
	if (!p->ret && p->at - begin > FILTER_TEXT_MAX)
		return fail_too_long(p, begin);
	if (!p->ret)
		p->ret = check_printed(p, begin);
	return p->ret ? p->ret : check_types(p);
}

int filter_parse(struct scan *s, enum domain domain, struct filter **out)
{
	size_t end = s->at + strcspn(s->line + s->at, "\n");
	struct filter *f = calloc(1, sizeof(*f));
	struct filter_parse p = { .at = s->at, .stops = s->stops, .err = s->err, .f = f,
				  .kernel = domain == DOMAIN_KERNEL };
	int ret;

	if (f)
		f->line = strndup(s->line, end);
	if (!f || !f->line) {
		free(f);
		return tr_fail(s->err, -ENOMEM, "out of memory");
	}
	f->references = 1;
	p.line = f->line;
	ret = parse_filter(&p, end);
	if (ret) {
		filter_put(f);
		return ret;
	}
	s->at = p.at;
	f->line[p.at] = '\0';
	*out = f;
	return 0;
}

void filter_set_begin(struct filter *f, size_t begin)
{
	if (!f->line[0])                /* the daemon made it: make.c */
		return;
	memmove(f->line, f->line + begin, strlen(f->line + begin) + 1);
	for (struct filter_node *n = f->made; n; n = n->made) {
		n->column -= (uint32_t)begin;
		for (uint32_t i = 0; i < 2 && i < n->index_count; i++)
			n->bracket[i] -= (uint32_t)begin;
	}
}

struct filter *filter_get(struct filter *f)
{
	__atomic_fetch_add(&f->references, 1, __ATOMIC_RELAXED);
	return f;
}

void filter_put(struct filter *f)
{
	struct filter_node *n, *made;

	/*
	 * Release: this holder's accesses come before the free; acquire: the last holder sees them.
	 */
	if (!f || __atomic_sub_fetch(&f->references, 1, __ATOMIC_ACQ_REL))
		return;
	for (n = f->made; n; n = made) {
		made = n->made;
		free(n->text);
		free(n);
	}
	free(f->line);
	free(f);
}
