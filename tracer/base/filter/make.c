/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Filters that the daemon makes itself, and filters that are parts of one. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/filter/parse.h"

static struct filter_node *set_text(struct filter_parse *p, struct filter_node *n,
				    const char *text, size_t len)
{
	if (!n)
		return NULL;
	n->text = strndup(text, len);
	n->text_length = (uint32_t)len;
	return n->text ? n : filter_no_memory(p);
}

static struct filter_node *make_field(struct filter_parse *p, const char *name)
{
	struct filter_node *n = set_text(p, filter_node(p, NODE_FIELD, 0), name, strlen(name));

	if (n)
		n->name_length = n->text_length;
	return n;
}

static struct filter_node *make_string(struct filter_parse *p, const char *pattern)
{
	struct filter_node *n = set_text(p, filter_node(p, NODE_STRING, 0), pattern,
					 strlen(pattern));
	uint32_t len = 0;

	if (!n)
		return NULL;
	/* As parse_value.c does: stars become NUL, neighbouring ones are merged. */
	for (; *pattern; pattern++) {
		if (*pattern == '\\' && pattern[1] == '*')
			n->text[len++] = *++pattern;
		else if (*pattern != '*')
			n->text[len++] = *pattern;
		else if (!len || n->text[len - 1])
			n->text[len++] = '\0';
	}
	n->text[len] = '\0';
	n->text_length = len;
	return n;
}

static struct filter_node *make_number(struct filter_parse *p, int64_t number)
{
	uint64_t absolute = number < 0 ? -(uint64_t)number : (uint64_t)number;
	struct filter_node *n = filter_node(p, NODE_NUMBER, 0), *minus;
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, absolute);
	n = set_text(p, n, text, strlen(text));
	if (!n)
		return NULL;
	n->length = n->text_length;
	n->value.type = absolute > INT64_MAX ? FILTER_UNSIGNED : FILTER_SIGNED;
	n->value.u = absolute;
	if (number >= 0)
		return n;
	minus = filter_node(p, NODE_UNARY, 0);
	if (!minus)
		return NULL;
	minus->op = OP_MINUS;
	return filter_add_operand(p, minus, n);
}

/* text NULL: the field is compared with the number. */
static struct filter *make(const char *field, enum filter_operator op, const char *text,
			   int64_t number)
{
	struct filter *f = calloc(1, sizeof(*f));
	struct filter_parse p = { .f = f };
	struct filter_node *left, *right = NULL;

	if (!f)
		return NULL;
	f->references = 1;
	f->line = strdup("");
	left = f->line ? make_field(&p, field) : NULL;
	if (left)
		right = text ? make_string(&p, text) : make_number(&p, number);
	if (right)
		f->root = filter_join(&p, op, 0, left, right);
	if (f->root)
		return f;
	filter_put(f);
	return NULL;
}

struct filter *filter_compare_text(const char *field, enum filter_operator op, const char *pattern)
{
	return make(field, op, pattern, 0);
}

struct filter *filter_compare_number(const char *field, enum filter_operator op, int64_t number)
{
	return make(field, op, NULL, number);
}

int filter_enclose(const struct scan *s, size_t column, struct filter *f)
{
	if (f->root->height + 1 > FILTER_LEVELS_MAX)
		return scan_fail(s, column, "more than %d levels of operators", FILTER_LEVELS_MAX);
	f->root->parens = true;
	return 0;
}

struct filter *filter_both(struct filter *a, struct filter *b)
{
	struct filter_parse p = { .f = a };
	struct filter_node *left = a ? a->root : NULL, *right = b ? b->root : NULL, *last = NULL;

	if (!a || !b) {
		filter_put(a);
		filter_put(b);
		return NULL;
	}
	for (struct filter_node *n = b->made; n; n = n->made) {
		n->id += a->node_count;
		last = n;
	}
	last->made = a->made;
	a->made = b->made;
	a->node_count += b->node_count;
	b->made = NULL;
	if (b->line[0]) {
		char *line = a->line;

		a->line = b->line;
		b->line = line;
	}
	filter_put(b);
	a->root = filter_join(&p, OP_BOTH, 0, left, right);
	if (a->root)
		return a;
	filter_put(a);
	return NULL;
}
