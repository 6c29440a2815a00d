// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/view/map/parse.h"
#include "tracer/view/map/value.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the event rule ---- */

/* The word at p begins what follows the event rule. */
static bool ends_rule(const char *line, size_t at)
{
	static const char *const before[] = { "if", "except", "loglevel" };
	struct token t = { line + at, strcspn(line + at, " \t,()") };
	size_t end = at, begin;

	if (!token_is(t, "by") && !token_is(t, "on") && map_find_operator(t) < 0 &&
	    !map_foreign_operator(t))
		return false;
	while (end && strchr(" \t", line[end - 1]))
		end--;
	/* An operand of a filter, or a pattern, is complete. */
	if (!end || end == at || (!isalnum((unsigned char)line[end - 1]) &&
				  !strchr("_)]\"*", line[end - 1])))
		return false;
	for (begin = end; begin && !strchr(" \t", line[begin - 1]);)
		begin--;
	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++)
		if (token_is((struct token){ line + begin, end - begin }, before[i]))
			return false;
	return true;
}

/* Where the event rule at the beginning of the line ends. */
static size_t end_of_rule(const char *line)
{
	bool quoted = false;
	size_t i;

	for (i = 0; line[i]; i++) {
		if (quoted && line[i] == '\\' && line[i + 1])
			i++;
		else if (line[i] == '"')
			quoted = !quoted;
		else if (!quoted && i && strchr(" \t", line[i - 1]) && ends_rule(line, i))
			break;
	}
	while (i && strchr(" \t", line[i - 1]))
		i--;
	return i;
}

static int take_event(struct parse *p, struct map_rule *r, int i, size_t len)
{
	r->columns[i] = (int)p->at;
	r->events[i] = strndup(p->line + p->at, len);
	p->at += len;
	return r->events[i] ? 0 : -ENOMEM;
}

static int take_events(struct parse *p, struct map_rule *r)
{
	int ret = 0;

	if (!take_if(p, "pair"))
		return take_event(p, r, 0, end_of_rule(p->line));
	for (int i = 0; i < 2 && !ret; i++) {
		size_t len = strcspn(look(p).text, " \t");

		if (!len || token_is(look(p), "on"))
			return fail(p, p->at, "pair EVENT EVENT on FIELD: an event is missing");
		ret = take_event(p, r, i, len);
	}
	return ret;
}

/* ---- fields ---- */

/* NAME, then .NAME or [NUMBER]; MD_HOPS_MAX of these in all. */
static bool is_path(const char *s, const char *end)
{
	unsigned int steps = 0;
	char *after;
	size_t n;

	do {
		if (*s == '[') {
			if (!isdigit((unsigned char)s[1]) ||
			    strtoul(s + 1, &after, 10) > UINT32_MAX || *after != ']')
				return false;
			s = after + 1;
			continue;
		}
		s += steps && *s == '.';
		n = strcspn(s, ".[ \t,()");
		if (!n)
			return false;
		s += n;
	} while (++steps < MD_HOPS_MAX && s < end && (*s == '.' || *s == '['));
	return s == end;
}

int map_take_field(struct parse *p, struct map_field *f)
{
	struct token t = look(p);
	size_t skip = t.len && *t.text == '$';

	if (!t.len || !(isalpha((unsigned char)t.text[skip]) || t.text[skip] == '_'))
		return fail(p, p->at, "expected a field, as path, $ctx.procname or $app.p:name");
	if (skip && strncmp(t.text, "$ctx.", 5) && strncmp(t.text, "$app.", 5))
		return fail(p, p->at, "a context is $ctx.NAME or $app.PROVIDER:NAME");
	if (memchr(t.text, '=', t.len))
		return fail(p, p->at, "a field is one name, which both events of a pair have: "
			    "on tid");
	if (skip ? t.len == 5 : !is_path(t.text, t.text + t.len))
		return fail(p, p->at, skip ? "the name of the context is missing"
					   : "a field is NAME, with members .NAME and elements "
					     "[NUMBER], at most 8 names and elements in all");
	f->column = (int)p->at;
	take(p);
	if (token_is(look(p), "(") && map_find_operator(t) >= 0)
		return fail(p, (size_t)f->column,
			    "an operator follows the last field without a comma: by path topk(2)");
	f->text = strndup(t.text, t.len);
	return f->text ? 0 : -ENOMEM;
}

static int take_fields(struct parse *p, struct map_field *f, size_t *count)
{
	int ret;

	if (*count)
		return fail(p, p->at, "there is such a list already");
	do {
		if (*count == MAP_FIELDS_MAX)
			return fail(p, p->at, "too many fields");
		ret = map_take_field(p, &f[*count]);
		*count += !ret;
	} while (!ret && take_if(p, ","));
	return ret;
}

/* ---- rules ---- */

static void deinit_rule(struct map_rule *r)
{
	free(r->text);
	free(r->events[0]);
	free(r->events[1]);
	for (size_t i = 0; i < MAP_FIELDS_MAX; i++) {
		free(r->on[i].text);
		free(r->by[i].text);
	}
	for (size_t i = 0; i < MAP_OPERATORS_MAX; i++) {
		free(r->ops[i].label);
		free(r->ops[i].field.text);
	}
}

static int parse_rule(const char *line, struct map_rule *r, struct tr_err *err)
{
	struct parse p = { .line = line, .err = err };
	int ret;

	*r = (struct map_rule){ .text = strdup(line) };
	ret = r->text ? take_events(&p, r) : -ENOMEM;
	if (!ret && r->events[1] && !take_if(&p, "on"))
		ret = fail(&p, p.at, "a pair needs `on FIELD`: what both events have");
	if (!ret && r->events[1])
		ret = take_fields(&p, r->on, &r->on_count);
	if (!ret && take_if(&p, "by"))
		ret = take_fields(&p, r->by, &r->by_count);
	if (!ret && look(&p).len)
		do
			ret = map_take_operator(&p, r);
		while (!ret && take_if(&p, ","));
	if (!ret && !r->op_count)
		ret = map_default_operator(r);
	if (!ret && look(&p).len)
		ret = fail(&p, p.at, token_is(look(&p), "by") ?
			   "'by' stands before the operators" : "expected a comma, or the end");
	if (ret)
		deinit_rule(r);
	return ret;
}

void map_rules_deinit(struct map_rules *r)
{
	for (size_t i = 0; i < r->count; i++)
		deinit_rule(&r->rules[i]);
	free(r->rules);
	*r = (struct map_rules){ 0 };
}

void map_rules_print(const struct map_rules *r, struct md_buf *out)
{
	for (size_t i = 0; i < r->count; i++)
		md_buf_printf(out, "%s\n", r->rules[i].text);
}

static size_t find_rule(const struct map_rules *r, const char *text)
{
	size_t i = 0;

	while (i < r->count && strcmp(r->rules[i].text, text) != 0)
		i++;
	return i;
}

/* One line without blanks around it. */
static int apply_line(struct map_rules *r, const char *line, struct tr_err *err)
{
	struct map_rule rule;
	size_t i;
	int ret;

	if (*line == '!') {
		line += 1 + strspn(line + 1, " \t");
		i = find_rule(r, line);
		if (i == r->count)
			return tr_fail_at(err, -ENOENT, line, 0, "the map has no such rule");
		deinit_rule(&r->rules[i]);
		memmove(&r->rules[i], &r->rules[i + 1], (--r->count - i) * sizeof(*r->rules));
		return 0;
	}
	if (find_rule(r, line) < r->count)
		return 0;
	if (r->count == MAP_RULES_MAX)
		return tr_fail_at(err, -ENOSPC, line, -1, "a map has at most 16 rules");
	ret = parse_rule(line, &rule, err);
	if (!ret)
		r->rules[r->count++] = rule;
	return ret;
}

int map_rules_apply(const struct map_rules *old, const char *lines, bool replace,
		    struct map_rules *out, struct tr_err *err)
{
	struct map_rules new = { .rules = calloc(MAP_RULES_MAX, sizeof(*new.rules)) };
	int ret = new.rules ? 0 : -ENOMEM, number = 0;

	for (size_t i = 0; i < old->count && !replace && !ret; i++)
		ret = apply_line(&new, old->rules[i].text, err);
	while (*lines && !ret) {
		size_t len = strcspn(lines, "\n"), skip = strspn(lines, " \t\r"), end = len;
		char *line = NULL;

		while (end > skip && strchr(" \t\r", lines[end - 1]))
			end--;
		number++;
		if (end > skip && lines[skip] != '#') {
			line = strndup(lines + skip, end - skip);
			ret = line ? apply_line(&new, line, err) : -ENOMEM;
		}
		free(line);
		lines += len + (lines[len] == '\n');
	}
	if (ret == -ENOMEM)
		tr_fail(err, ret, "out of memory");
	if (ret && err)
		err->line = number;
	if (ret)
		map_rules_deinit(&new);
	else
		*out = new;
	return ret;
}
