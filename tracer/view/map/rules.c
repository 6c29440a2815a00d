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
	/* The second event ends the first one, also its filter: no operator is a word. */
	const char *stops[64] = { scan_pattern };
	size_t n = 0;
	int ret = 0;

	while (map_stops[n])
		n++;
	memcpy(stops + 1, map_stops, (n + 1) * sizeof(*stops));
	r->pair = true;
	for (int i = 0; i < 2 && !ret; i++) {
		struct token t = scan_look(s);

		if (!t.len || token_is(t, "on"))
			return scan_fail(s, s->at,
					 "pair EVENT EVENT on FIELD: an event is missing");
		r->columns[i] = (int)s->at;
		ret = rule_parse(s, domain, i ? map_stops : stops, &r->events[i]);
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

static bool begins_first(struct token t)
{
	return t.len > strlen(MAP_FIRST) && !strncmp(t.text, MAP_FIRST, strlen(MAP_FIRST));
}

static int take_field(struct scan *s, struct map_field *f)
{
	struct token t = scan_look(s);
	size_t skip = t.len && *t.text == '$';
	const char *equal = memchr(t.text, '=', t.len);

	if (equal)
		t.len = (size_t)(equal - t.text);

	if (!t.len || !(isalpha((unsigned char)t.text[skip]) || t.text[skip] == '_'))
		return scan_fail(s, s->at,
				 "expected a field, as path, $ctx.procname or $app.p:name");
	if (token_is(t, "$event"))
		f->name = MAP_NAME_EVENT;
	else if (token_is(t, "$provider"))
		f->name = MAP_NAME_PROVIDER;
	else if (skip && strncmp(t.text, "$ctx.", 5) && strncmp(t.text, "$app.", 5))
		return scan_fail(s, s->at, "a context is $ctx.NAME or $app.PROVIDER:NAME; an event "
				 "has $event and $provider");
	if (f->name ? false : skip ? t.len == 5 : !is_field_path(t.text, t.len))
		return scan_fail(s, s->at,
				 skip ? "the name of the context is missing"
				      : "a field is NAME, with members .NAME and elements "
					"[NUMBER], at most 8 names and elements in all");
	f->column = (int)s->at;
	s->at += t.len;
	if (token_is(scan_look(s), "(") && map_find_operator(t) >= 0)
		return scan_fail(s, (size_t)f->column, "an operator follows the last field without "
				 "a comma: by path topk(2)");
	f->text = strndup(t.text, t.len);
	return f->text ? 0 : -ENOMEM;
}

/* Takes what follows `first.`, too. */
int map_take_field(struct scan *s, const struct map_rule *r, struct map_field *f)
{
	struct token t = scan_look(s);
	size_t begin = s->at;
	char *text;
	int ret;

	if (!r->pair || !begins_first(t))
		return take_field(s, f);
	s->at += strlen(MAP_FIRST);
	ret = take_field(s, f);
	if (ret)
		return ret;
	f->first = true;
	f->column = (int)begin;
	if (asprintf(&text, MAP_FIRST "%s", f->text) < 0)
		return -ENOMEM;
	free(f->text);
	f->text = text;
	return 0;
}

/* A[=B] after `on`. */
static int take_join(struct scan *s, struct map_field *first, struct map_field *second)
{
	int ret = take_field(s, first);

	if (ret)
		return ret;
	scan_blanks(s);
	if (s->line[s->at] == '=') {
		s->at++;
		if (s->line[s->at] == '=')
			return scan_fail(s, s->at - 1, "'on A=B' has one '='");
		return take_field(s, second);
	}
	*second = *first;
	second->text = strdup(first->text);
	return second->text ? 0 : -ENOMEM;
}

static int take_joins(struct scan *s, struct map_rule *r)
{
	int ret;

	do {
		if (r->on_count == MAP_FIELDS_MAX)
			return scan_fail(s, s->at, "too many fields");
		ret = take_join(s, &r->on[0][r->on_count], &r->on[1][r->on_count]);
		r->on_count += !ret;
	} while (!ret && scan_take_if(s, ","));
	return ret;
}

static int take_fields(struct scan *s, struct map_rule *r, struct map_field *f, size_t *count)
{
	int ret;

	if (*count)
		return scan_fail(s, s->at, "there is such a list already");
	do {
		if (*count == MAP_FIELDS_MAX)
			return scan_fail(s, s->at, "too many fields");
		ret = map_take_field(s, r, &f[*count]);
		*count += !ret;
	} while (!ret && scan_take_if(s, ","));
	if (!ret && s->line[s->at] == '=')
		return scan_fail(s, s->at, "a field after 'by' is one name; a pair joins two by "
				 "'on A=B'");
	return ret;
}

/* Names of events are keys, no values. */
static int check_names(struct scan *s, enum domain domain, const struct map_rule *r)
{
	for (size_t i = 0; i < 2 * r->on_count; i++)
		if (r->on[i % 2][i / 2].name)
			return scan_fail(s, (size_t)r->on[i % 2][i / 2].column,
					 "$event and $provider stand after 'by' only");
	for (size_t i = 0; i < r->op_count; i++)
		if (r->ops[i].field.name)
			return scan_fail(s, (size_t)r->ops[i].field.column,
					 "$event and $provider stand after 'by' only");
	for (size_t i = 0; i < r->by_count; i++)
		if (r->by[i].name == MAP_NAME_PROVIDER && domain == DOMAIN_KERNEL)
			return scan_fail(s, (size_t)r->by[i].column,
					 "events of the kernel have no provider");
	return 0;
}

/* Whether a counter for each event tells all. */
static bool only_counts(enum domain domain, const struct map_rule *r)
{
	if (domain != DOMAIN_USER || r->pair)
		return false;
	for (size_t i = 0; i < r->by_count; i++)
		if (!r->by[i].name)
			return false;
	for (size_t i = 0; i < r->op_count; i++)
		if (r->ops[i].kind != MAP_COUNT)
			return false;
	return true;
}

static bool names_first(const struct map_rule *r)
{
	bool any = false;

	for (size_t i = 0; i < r->by_count; i++)
		any |= r->by[i].first;
	for (size_t i = 0; i < r->op_count; i++)
		any |= r->ops[i].field.first;
	return any;
}

/* ---- rules ---- */

static void deinit_rule(struct map_rule *r)
{
	free(r->text);
	for (size_t i = 0; i < 2; i++)
		rule_deinit(&r->events[i]);
	for (size_t i = 0; i < MAP_FIELDS_MAX; i++) {
		free(r->on[0][i].text);
		free(r->on[1][i].text);
		free(r->by[i].text);
	}
	for (size_t i = 0; i < MAP_OPERATORS_MAX; i++) {
		free(r->ops[i].label);
		free(r->ops[i].field.text);
	}
}

/* `increments`: its key is a text. */
static int make_increments(struct map_rule *r)
{
	r->increments = true;
	r->by[0].text = strdup("key");
	r->by_count = 1;
	return r->by[0].text ? map_default_operator(r) : -ENOMEM;
}

static int parse_rule(enum domain domain, const char *line, struct map_rule *r, struct tr_err *err)
{
	struct scan *s = SCAN(line, 0, err);
	int ret;

	*r = (struct map_rule){ .text = strdup(line) };
	if (r->text && !strcmp(line, "increments")) {
		ret = make_increments(r);
		if (ret)
			deinit_rule(r);
		return ret;
	}
	ret = r->text ? parse_events(s, domain, r) : -ENOMEM;
	if (!ret && r->pair && !scan_take_if(s, "on"))
		ret = scan_fail(s, s->at, "a pair needs `on FIELD`: what both events have");
	if (!ret && r->pair)
		ret = take_joins(s, r);
	if (!ret && scan_take_if(s, "by"))
		ret = take_fields(s, r, r->by, &r->by_count);
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
	if (!ret)
		ret = check_names(s, domain, r);
	r->counts = !ret && only_counts(domain, r);
	r->has_first = !ret && names_first(r);
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
