// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/base/words.h"
#include "tracer/view/map/parse.h"
#include "tracer/view/map/value.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the event rule ---- */

static int parse_pair(struct scan *s, enum domain domain, struct map_rule *r)
{
	int ret = 0;

	r->pair = true;
	for (int i = 0; i < 2 && !ret; i++) {
		struct token t = scan_look(s);

		if (!t.len || token_is(t, "on"))
			return scan_fail(s, s->at,
					 "pair EVENT EVENT on FIELD: an event is missing");
		r->columns[i] = (int)s->at;
		ret = rule_parse_pattern(s, domain, &r->events[i]);
	}
	return ret;
}

static int parse_events(struct scan *s, enum domain domain, struct map_rule *r)
{
	if (scan_take_if(s, "pair"))
		return parse_pair(s, domain, r);
	if (strchr("~#", s->line[s->at]))
		return scan_fail(s, s->at, "a rule begins with a pattern");
	r->columns[0] = (int)s->at;
	return rule_parse(s, domain, map_stops, &r->events[0]);
}

/* ---- fields ---- */

int map_take_field(struct scan *s, struct map_field *f)
{
	struct token t = scan_look(s);
	size_t skip = t.len && *t.text == '$';

	if (!t.len || !(isalpha((unsigned char)t.text[skip]) || t.text[skip] == '_'))
		return scan_fail(s, s->at,
				 "expected a field, as path, $ctx.procname or $app.p:name");
	if (skip && strncmp(t.text, "$ctx.", 5) && strncmp(t.text, "$app.", 5))
		return scan_fail(s, s->at, "a context is $ctx.NAME or $app.PROVIDER:NAME");
	if (memchr(t.text, '=', t.len))
		return scan_fail(s, s->at,
				 "a field is one name, which both events of a pair have: on tid");
	if (skip ? t.len == 5 : !is_field_path(t.text, t.len))
		return scan_fail(s, s->at,
				 skip ? "the name of the context is missing"
				      : "a field is NAME, with members .NAME and elements "
					"[NUMBER], at most 8 names and elements in all");
	f->column = (int)s->at;
	scan_take(s);
	if (token_is(scan_look(s), "(") && map_find_operator(t) >= 0)
		return scan_fail(s, (size_t)f->column, "an operator follows the last field without "
				 "a comma: by path topk(2)");
	f->text = strndup(t.text, t.len);
	return f->text ? 0 : -ENOMEM;
}

static int take_fields(struct scan *s, struct map_field *f, size_t *count)
{
	int ret;

	if (*count)
		return scan_fail(s, s->at, "there is such a list already");
	do {
		if (*count == MAP_FIELDS_MAX)
			return scan_fail(s, s->at, "too many fields");
		ret = map_take_field(s, &f[*count]);
		*count += !ret;
	} while (!ret && scan_take_if(s, ","));
	return ret;
}

/* ---- rules ---- */

static void deinit_rule(struct map_rule *r)
{
	free(r->text);
	for (size_t i = 0; i < 2; i++)
		rule_deinit(&r->events[i]);
	for (size_t i = 0; i < MAP_FIELDS_MAX; i++) {
		free(r->on[i].text);
		free(r->by[i].text);
	}
	for (size_t i = 0; i < MAP_OPERATORS_MAX; i++) {
		free(r->ops[i].label);
		free(r->ops[i].field.text);
	}
}

static int parse_rule(enum domain domain, const char *line, struct map_rule *r, struct tr_err *err)
{
	struct scan *s = SCAN(line, 0, err);
	int ret;

	*r = (struct map_rule){ .text = strdup(line) };
	ret = r->text ? parse_events(s, domain, r) : -ENOMEM;
	if (!ret && r->pair && !scan_take_if(s, "on"))
		ret = scan_fail(s, s->at, "a pair needs `on FIELD`: what both events have");
	if (!ret && r->pair)
		ret = take_fields(s, r->on, &r->on_count);
	if (!ret && scan_take_if(s, "by"))
		ret = take_fields(s, r->by, &r->by_count);
	if (!ret && scan_look(s).len)
		do
			ret = map_take_operator(s, r);
		while (!ret && scan_take_if(s, ","));
	if (!ret && !r->op_count)
		ret = map_default_operator(r);
	if (!ret && scan_look(s).len)
		ret = scan_fail(s, s->at,
				token_is(scan_look(s), "by")
					? "'by' stands before the operators"
					: "expected a comma, or the end");
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
static int apply_line(struct map_rules *r, enum domain domain, const char *line,
		      struct tr_err *err)
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
	ret = parse_rule(domain, line, &rule, err);
	if (!ret)
		r->rules[r->count++] = rule;
	return ret;
}

int map_rules_apply(const struct map_rules *old, enum domain domain, const char *lines,
		    bool replace, struct map_rules *out, struct tr_err *err)
{
	struct map_rules new = { .rules = calloc(MAP_RULES_MAX, sizeof(*new.rules)) };
	int ret = new.rules ? 0 : -ENOMEM, number = 0;

	for (size_t i = 0; i < old->count && !replace && !ret; i++)
		ret = apply_line(&new, domain, old->rules[i].text, err);
	while (*lines && !ret) {
		size_t len = strcspn(lines, "\n"), skip = strspn(lines, " \t\r"), end = len;
		char *line = NULL;

		while (end > skip && strchr(" \t\r", lines[end - 1]))
			end--;
		number++;
		if (end > skip && lines[skip] != '#') {
			line = strndup(lines + skip, end - skip);
			ret = line ? apply_line(&new, domain, line, err) : -ENOMEM;
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
