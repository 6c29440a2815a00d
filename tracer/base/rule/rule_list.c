/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Matches, changes and prints lists of rules: see rule.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/base/rule/kernel_pattern.h"
#include "tracer/base/lexer.h"

static bool match_pattern(const struct rule *r, const struct event_key *pattern,
			  const struct event_key *event)
{
	return r->kernel ? krule_match(pattern, event) : glob_match(pattern->place, event->place);
}

bool rule_names(const struct rule *r, const struct event_key *event)
{
	for (size_t i = 0; i < r->key_count; i++)
		if (match_pattern(r, &r->keys[i], event))
			return true;
	return false;
}

bool rule_match(const struct rule *r, const struct event_key *event, int level)
{
	size_t i;

	if (level < r->level_min || level > r->level_max || !rule_names(r, event))
		return false;
	/* Exceptions of functions are a part of the filter. */
	for (i = 0; i < r->except_count && r->kind != RULE_FUNCTIONS; i++)
		if (match_pattern(r, EVENT_KEY(r->except[i]), event))
			return false;
	return true;
}

static bool is_recorded_by(const struct rule *r, const struct event_key *event, int level)
{
	return !r->disabled && rule_match(r, event, level);
}

bool rule_list_match(const struct rule_list *l, const struct event_key *event, int level)
{
	size_t i;

	for (i = 0; i < l->count; i++)
		if (is_recorded_by(&l->rules[i], event, level))
			return true;
	return false;
}

bool rule_list_has_filter(const struct rule_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->rules[i].filter && !l->rules[i].disabled)
			return true;
	return false;
}

uint64_t rule_list_decide(const struct rule_list *l, const struct event_key *event, int level)
{
	uint64_t sum = 0;
	bool any = false;
	size_t i;

	for (i = 0; i < l->count; i++) {
		const struct rule *r = &l->rules[i];

		if (!is_recorded_by(r, event, level))
			continue;
		if (!r->filter)
			return RULE_ALL;
		any = true;
		/* order-independent, because filters are alternatives */
		sum += r->filter_digest;
	}
	return any ? sum << 1 | RULE_ALL << 1 : 0;
}

size_t rule_list_filters(const struct rule_list *l, const struct event_key *event, int level,
			 const struct filter **out, size_t max)
{
	size_t i, n = 0;

	for (i = 0; i < l->count; i++)
		if (l->rules[i].filter && is_recorded_by(&l->rules[i], event, level)) {
			if (n < max)
				out[n] = l->rules[i].filter;
			n++;
		}
	return n;
}

void rule_list_deinit(struct rule_list *l)
{
	size_t i;

	for (i = 0; i < l->count; i++)
		rule_deinit(&l->rules[i]);
	free(l->rules);
	*l = (struct rule_list){ 0 };
}

void rule_list_print(const struct rule_list *l, struct md_buf *out)
{
	size_t i;

	for (i = 0; i < l->count; i++) {
		if (l->rules[i].disabled)
			md_buf_putc(out, '~');
		md_buf_puts(out, l->rules[i].text);
		md_buf_putc(out, '\n');
	}
}

int rule_list_of(const struct rule *r, struct rule_list *out)
{
	*out = (struct rule_list){ .rules = calloc(1, sizeof(*out->rules)) };
	if (!out->rules || rule_copy(r, &out->rules[0])) {
		free(out->rules);
		*out = (struct rule_list){ 0 };
		return -ENOMEM;
	}
	out->count = 1;
	out->rules[0].line = 1;
	return 0;
}

static struct rule *find_rule(struct rule_list *l, const char *text)
{
	size_t i;

	for (i = 0; i < l->count; i++)
		if (!strcmp(l->rules[i].text, text))
			return &l->rules[i];
	return NULL;
}

int rule_list_copy(const struct rule_list *from, struct rule_list *to)
{
	size_t i;
	int ret = 0;

	*to = (struct rule_list){ 0 };
	for (i = 0; i < from->count && !ret; i++) {
		ret = array_double(to->rules, to->count)
			      ? rule_copy(&from->rules[i], &to->rules[to->count])
			      : -ENOMEM;
		if (!ret)
			to->rules[to->count++].line = 0;
	}
	if (ret)
		rule_list_deinit(to);
	return ret;
}

/* Adds a rule, or changes the one with the same text. Takes over r. */
static int add_rule(struct rule_list *l, struct rule *r, const char *line, struct tr_err *err)
{
	struct rule *same = find_rule(l, r->text);

	if (same) {
		same->disabled = r->disabled;
		/* Marks it as changed: the path of a probe may meanwhile be another file. */
		if (r->kernel)
			same->line = r->line;
		rule_deinit(r);
		return 0;
	}
	if (l->count >= RULE_COUNT_MAX) {
		rule_deinit(r);
		return tr_fail_at(err, -ENOSPC, line, -1, "a channel has at most %u rules",
				  RULE_COUNT_MAX);
	}
	if (!array_double(l->rules, l->count)) {
		rule_deinit(r);
		return tr_fail(err, -ENOMEM, "out of memory");
	}
	l->rules[l->count++] = *r;
	return 0;
}

/*
 * RULE: the rule of that text; !PATTERN: all rules of that pattern.
 */
static bool is_removed(const struct rule *r, const struct rule *removed, bool pattern_only)
{
	return pattern_only ? !strcmp(r->pattern, removed->pattern)
			    : !strcmp(r->text, removed->text);
}

static int remove_rules(struct rule_list *l, const struct rule *removed, const char *line,
			size_t at, struct tr_err *err)
{
	struct md_buf plain = MD_BUF_INIT;
	size_t i, kept = 0, count = l->count;
	bool pattern_only, no_memory;

	word_print(removed->pattern, &plain);
	pattern_only = !strcmp(md_buf_str(&plain), removed->text);
	no_memory = plain.failed;
	md_buf_deinit(&plain);
	if (no_memory)
		return tr_fail(err, -ENOMEM, "out of memory");
	for (i = 0; i < count; i++) {
		if (is_removed(&l->rules[i], removed, pattern_only))
			rule_deinit(&l->rules[i]);
		else
			l->rules[kept++] = l->rules[i];
	}
	l->count = kept;
	if (kept == count)
		return tr_fail_at(err, -ENOENT, line, (int)at,
				  pattern_only ? "no rule has this pattern" : "no such rule");
	return 0;
}

/* A rule that waits for its event says so in its text. */
static int make_optional(struct rule *r, struct tr_err *err)
{
	char *text;

	if (asprintf(&text, "?%s", r->text) < 0)
		return tr_fail(err, -ENOMEM, "out of memory");
	free(r->text);
	r->text = text;
	r->optional = true;
	return 0;
}

/* Applies one line. */
static int apply_line(struct rule_list *l, enum domain domain, const char *line, int number,
		      struct tr_err *err)
{
	struct scan s = { line, 0, err, NULL };
	struct rule r;
	bool remove, disabled, optional;
	size_t len = strcspn(line, "\n"), at;
	int ret;

	if (line[0] == '#')
		return 0;
	if (len > RULE_LINE_MAX)
		return tr_fail_at(err, -EINVAL, line, (int)RULE_LINE_MAX,
				  "the line has %zu bytes; the limit is %u", len,
				  RULE_LINE_MAX);
	scan_blanks(&s);
	if (scan_at_end(&s))
		return 0;
	remove = line[s.at] == '!';
	s.at += remove;
	/* `!~RULE` is accepted, because the list prints disabled rules with ~. */
	disabled = line[s.at] == '~';
	s.at += disabled;
	scan_blanks(&s);
	optional = line[s.at] == '?';
	if (optional && domain != DOMAIN_KERNEL)
		return tr_fail_at(err, -EINVAL, line, (int)s.at,
				  "rules on events of programs wait for their programs anyway: "
				  "leave '?' out");
	s.at += optional;
	if (scan_at_end(&s))
		return tr_fail_at(err, -EINVAL, line, (int)s.at, "a rule is missing after '%c'",
				  optional ? '?' : remove ? '!' : '~');
	if (line[s.at] == '!' || line[s.at] == '~')
		return tr_fail_at(err, -EINVAL, line, (int)s.at, "a line has one '!' or '~' only");
	at = s.at;
	ret = rule_parse(&s, domain, NULL, &r);
	if (!ret && optional && (ret = make_optional(&r, err)))
		rule_deinit(&r);
	if (ret)
		return ret;
	r.disabled = disabled;
	r.line = number;
	if (!remove)
		return add_rule(l, &r, line, err);
	ret = remove_rules(l, &r, line, at, err);
	rule_deinit(&r);
	return ret;
}

int rule_list_apply(const struct rule_list *old, enum domain domain, const char *lines,
		    bool replace, struct rule_list *out, struct tr_err *err)
{
	static const struct rule_list none;
	struct rule_list new;
	int line = 0, ret = rule_list_copy(replace || !old ? &none : old, &new);

	if (ret)
		return tr_fail(err, ret, "out of memory");
	while (*lines) {
		line++;
		ret = apply_line(&new, domain, lines, line, err);
		if (ret) {
			if (err)
				err->line = line;
			rule_list_deinit(&new);
			return ret;
		}
		lines += strcspn(lines, "\n");
		lines += *lines == '\n';
	}
	*out = new;
	return 0;
}
