// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/app/agent/agent_rule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tracer/base/filter/tree.h"
#include "tracer/base/lexer.h"

/* Fields of the libraries' events. */
#define LOGGER "logger_name"
#define LEVEL "int_loglevel"

static const struct {
	const char *text;
	enum filter_operator op;
} comparisons[] = {
	{ "<", OP_LT }, { "<=", OP_LE }, { "==", OP_EQ }, { "=", OP_EQ }, { ">=", OP_GE },
	{ ">", OP_GT },
};

/* ---- from the user's line ---- */

/* One more condition, which is taken over. 0 or -ENOMEM. */
static int add(struct filter **all, struct filter *condition)
{
	*all = *all ? filter_both(*all, condition) : condition;
	return *all ? 0 : -ENOMEM;
}

static int parse_logger(struct scan *s, struct word *w, struct filter **all)
{
	const char *name;
	int ret = scan_word(s, false, w);

	if (ret)
		return ret;
	name = word_text(w);
	if (word_is(w, "if") || word_is(w, "loglevel"))
		return scan_fail(s, word_column(w, 0), "a logger's name is missing before '%s'",
				 name);
	if (!*name)
		return scan_fail(s, word_column(w, 0),
				 "the name is empty; '*' matches any logger");
	if (strlen(name) > LOGGER_MAX)
		return scan_fail(s, word_column(w, 0), "a logger's name has at most %u bytes",
				 LOGGER_MAX);
	for (const char *p = name; *p; p++)
		if ((*p == '\\' && p[1] != '*') || *p == '"' || (unsigned char)*p < 0x20 ||
		    *p == 0x7f)
			return scan_fail(s, word_column(w, (size_t)(p - name)),
					 "a rule cannot match a logger whose name has quotes, "
					 "backslashes or control characters");
	return strcmp(name, "*") ? add(all, filter_compare_text(LOGGER, OP_EQ, name)) : 0;
}

static int fail_level(const struct agent_kind *k, struct scan *s, size_t at, size_t size)
{
	struct md_buf names = MD_BUF_INIT;
	int ret;

	for (const struct agent_level *l = k->levels; l->name; l++)
		md_buf_printf(&names, "%s%s (%d)", l == k->levels ? "" : ", ", l->name, l->number);
	if (size)
		ret = scan_fail(s, at, "no such level '%.*s'; levels are %s",
				(int)(size < 40 ? size : 40), s->line + at, md_buf_str(&names));
	else
		ret = scan_fail(s, at, "a level is missing here; levels are %s",
				md_buf_str(&names));
	md_buf_deinit(&names);
	return ret;
}

/* A level's name in any case, or its number. */
static int parse_level(const struct agent_kind *k, struct scan *s, long *out)
{
	const char *p;
	size_t size;
	char *end;

	scan_blanks(s);
	p = s->line + s->at;
	size = strcspn(p, " \t\n.<>=!");
	for (const struct agent_level *l = k->levels; l->name; l++) {
		if (strlen(l->name) == size && !strncasecmp(l->name, p, size)) {
			*out = l->number;
			s->at += size;
			return 0;
		}
	}
	errno = 0;
	*out = strtol(p, &end, 10);
	if (!size || end != p + size || errno || *out < INT32_MIN || *out > INT32_MAX)
		return fail_level(k, s, s->at, size);
	s->at += size;
	return 0;
}

/* What stands before the level. */
static int parse_comparison(struct scan *s, bool *some, enum filter_operator *op)
{
	size_t begin, len;

	scan_blanks(s);
	begin = s->at;
	len = strspn(s->line + begin, "<>=!");
	*some = len > 0;
	*op = OP_EQ;
	s->at += len;
	for (size_t i = 0; i < sizeof(comparisons) / sizeof(comparisons[0]); i++)
		if (strlen(comparisons[i].text) == len &&
		    !strncmp(comparisons[i].text, s->line + begin, len)) {
			*op = comparisons[i].op;
			return 0;
		}
	return len ? scan_fail(s, begin, "no such comparison; use < <= == >= >") : 0;
}

static int parse_loglevel(const struct agent_kind *k, struct scan *s, struct filter **all)
{
	enum filter_operator op;
	long from, to;
	bool compared;
	int ret = parse_comparison(s, &compared, &op);

	if (!ret)
		ret = parse_level(k, s, &from);
	if (ret)
		return ret;
	if (compared || strncmp(s->line + s->at, "..", 2) != 0)
		return add(all, filter_compare_number(LEVEL, op, from));
	s->at += 2;
	if (scan_at_end(s) || strchr(" \t", s->line[s->at]))
		return add(all, filter_compare_number(LEVEL, k->severe_is_low ? OP_LE : OP_GE,
						      from));
	ret = parse_level(k, s, &to);
	if (!ret)
		ret = add(all, filter_compare_number(LEVEL, OP_GE, from < to ? from : to));
	return ret ? ret : add(all, filter_compare_number(LEVEL, OP_LE, from < to ? to : from));
}

static int parse_filter(struct scan *s, struct filter **all)
{
	size_t begin = s->at;
	struct filter *f;
	int ret = filter_parse(s, DOMAIN_USER, &f);

	if (!ret && *all && (ret = filter_enclose(s, begin, f)))
		filter_put(f);
	return ret ? ret : add(all, f);
}

/* The clauses after the logger's name, as conditions joined by &&. */
static int parse_clauses(const struct agent_kind *k, struct scan *s, struct word *w,
			 struct filter **all)
{
	bool level = false;

	for (;;) {
		size_t len;
		const char *near;
		int ret;

		scan_blanks(s);
		if (scan_done(s))
			return 0;
		ret = scan_word(s, false, w);
		if (ret)
			return ret;
		if (word_is(w, "if"))
			return parse_filter(s, all);
		len = strlen(word_text(w));
		near = scan_near_stop(s, word_text(w), len);
		if (near)
			return scan_fail(s, word_column(w, 0),
					 "no such keyword '%.60s'; did you mean '%s'?",
					 word_text(w), near);
		if (!word_is(w, "loglevel") || level)
			return scan_fail(s, word_column(w, 0), "'%.60s' is not expected here; a "
					 "logger's name is followed by 'loglevel' and 'if'",
					 word_text(w));
		level = true;
		ret = parse_loglevel(k, s, all);
		if (ret)
			return ret;
	}
}

int agent_rule_parse(struct scan *s, const struct agent_kind *k, const char *const *stops,
		     struct rule *out)
{
	struct scan own = { s->line, s->at, s->err, stops };
	struct filter *all = NULL;
	struct word w = { 0 };
	size_t begin;
	int ret;

	scan_blanks(&own);
	begin = own.at;
	ret = parse_logger(&own, &w, &all);
	if (!ret)
		ret = parse_clauses(k, &own, &w, &all);
	s->at = own.at;
	word_deinit(&w);
	if (!ret)
		return rule_make(&own, begin, k->event, all, out);
	filter_put(all);
	return ret == -ENOMEM ? tr_fail(s->err, ret, "out of memory") : ret;
}

/* ---- from a rule of the channel ---- */

/* The right side of `FIELD OP …`; NULL: it is another condition. */
static const struct filter_node *find_compared(const struct filter_node *n, const char *field)
{
	return n && n->kind == NODE_BINARY && !n->parens && n->first->kind == NODE_FIELD &&
			       !strcmp(n->first->text, field)
		       ? n->last
		       : NULL;
}

static bool read_logger(const struct filter_node *n, struct agent_rule *out)
{
	const struct filter_node *name = find_compared(n, LOGGER);
	char logger[LOGGER_MAX + 1];
	size_t len = 0;

	if (!name || n->op != OP_EQ || name->kind != NODE_STRING || !name->text_length)
		return false;
	for (size_t i = 0; i < name->text_length; i++) {
		char c = name->text[i];

		if (len + 1 + (c == '*') > LOGGER_MAX || c == '\\' || c == '"' || c == 0x7f ||
		    (c && (unsigned char)c < 0x20))
			return false;
		if (c == '*')
			logger[len++] = '\\';
		logger[len++] = c ? c : '*';
	}
	logger[len] = '\0';
	memcpy(out->logger, logger, len + 1);
	return true;
}

/* An integer in base 10: with another base the user wrote it. */
static bool read_number(const struct filter *f, const struct filter_node *n, long *out)
{
	bool negative = n->kind == NODE_UNARY && n->op == OP_MINUS && !n->parens;
	const char *text;

	n = negative ? n->first : n;
	if (n->kind != NODE_NUMBER || n->parens || n->value.type == FILTER_FLOAT ||
	    n->value.u > 1u + (uint64_t)INT32_MAX)
		return false;
	text = n->text ? n->text : f->line + n->column;
	if (strspn(text, "0123456789") < n->length || (*text == '0' && n->length > 1))
		return false;
	*out = negative ? -(long)n->value.u : (long)n->value.u;
	return true;
}

static const char *read_comparison(const struct filter *f, const struct filter_node *n,
				   long *level)
{
	const struct filter_node *number = find_compared(n, LEVEL);

	if (!number || !read_number(f, number, level))
		return NULL;
	for (size_t i = 0; i < sizeof(comparisons) / sizeof(comparisons[0]); i++)
		if (comparisons[i].op == n->op)
			return comparisons[i].text;
	return NULL;
}

/* The first condition that belongs to no level. */
static const struct filter_node *read_level(const struct filter *f, const struct filter_node *n,
					    struct agent_rule *out)
{
	const char *op = read_comparison(f, n, &out->level), *other;

	if (!op)
		return n;
	other = strcmp(op, ">=") ? NULL : read_comparison(f, n->next, &out->level_end);
	if (other && !strcmp(other, "<=") && out->level <= out->level_end) {
		out->op = "..";
		return n->next->next;
	}
	out->op = op;
	return n->next;
}

bool agent_rule_read(const struct agent_kind *k, const struct rule *r, struct agent_rule *out)
{
	const struct filter_node *all = r->filter ? r->filter->root : NULL, *n = all;

	*out = (struct agent_rule){ .logger = "*", .filter = r->filter };
	if (strcmp(r->pattern, k->event) != 0 || r->except_count || r->level_min ||
	    r->level_max != LEVEL_COUNT - 1)
		return false;
	if (n && n->kind == NODE_LOGIC && n->op == OP_BOTH && !n->parens)
		n = n->first;
	if (n && read_logger(n, out))
		n = n->next;
	if (n)
		n = read_level(r->filter, n, out);
	if (!n)
		return true;
	/* A filter that was not written here is one as a whole. */
	if (n->next || !n->parens || (!out->op && !strcmp(out->logger, "*")))
		*out = (struct agent_rule){ .logger = "*", .filter = r->filter, .rest = all };
	else
		out->rest = n;
	return true;
}

static void print_level(const struct agent_kind *k, long level, struct md_buf *out)
{
	for (const struct agent_level *l = k->levels; l->name; l++) {
		if (l->number == level) {
			md_buf_puts(out, l->name);
			return;
		}
	}
	md_buf_printf(out, "%ld", level);
}

void agent_rule_print(const struct agent_kind *k, const struct agent_rule *r, struct md_buf *out)
{
	word_print(r->logger, out);
	if (r->op) {
		bool range = !strcmp(r->op, ".."), equal = !strcmp(r->op, "==");

		md_buf_printf(out, " loglevel %s%s", range || equal ? "" : r->op,
			      range || equal ? "" : " ");
		print_level(k, r->level, out);
		if (range) {
			md_buf_puts(out, "..");
			print_level(k, r->level_end, out);
		}
	}
	if (!r->rest)
		return;
	md_buf_puts(out, " if ");
	if (r->rest == r->filter->root)
		filter_print(r->filter, out);
	else
		filter_print_inside(r->filter, r->rest, out);
}
