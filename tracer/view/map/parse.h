/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of a map's rule: what rules.c and operators.c read with. Private to map/. */
#ifndef TRACER_MAP_PARSE_H
#define TRACER_MAP_PARSE_H

#include <errno.h>
#include <string.h>

#include "tracer/view/map/rules.h"

struct parse {
	const char *line;
	size_t at;
	struct tr_err *err;
};

struct token {
	const char *text;
	size_t len;             /* 0: the end */
};

static inline int fail(struct parse *p, size_t at, const char *what)
{
	return tr_fail_at(p->err, -EINVAL, p->line, (int)at, "%s", what);
}

static inline bool token_is(struct token t, const char *word)
{
	return t.len == strlen(word) && !strncmp(t.text, word, t.len);
}

/* A word, or one of `,`, `(`, `)`. */
static inline struct token look(struct parse *p)
{
	struct token t;

	p->at += strspn(p->line + p->at, " \t");
	t.text = p->line + p->at;
	t.len = strcspn(t.text, " \t,()");
	if (!t.len && *t.text)
		t.len = 1;
	return t;
}

static inline struct token take(struct parse *p)
{
	struct token t = look(p);

	p->at += t.len;
	return t;
}

static inline bool take_if(struct parse *p, const char *word)
{
	bool is = token_is(look(p), word);

	if (is)
		take(p);
	return is;
}

/* The operator of this name; -1: none. */
int map_find_operator(struct token t);
/* The operator that other tools call by this word; NULL: none. */
const char *map_foreign_operator(struct token t);
/* Takes a field. 0, -EINVAL, -ENOMEM; so do the next ones. */
int map_take_field(struct parse *p, struct map_field *f);
/* Takes an operator, or `topk(K)`. */
int map_take_operator(struct parse *p, struct map_rule *r);
/* The operators of a rule that has none. */
int map_default_operator(struct map_rule *r);

#endif
