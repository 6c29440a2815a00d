/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses one event rule: PATTERN [except …] [loglevel …] [with …] [if …]. See rule.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"
#include "tracer/abi/app.h"
#include "tracer/base/array.h"
#include "tracer/base/hash.h"
#include "tracer/base/probe/probe.h"
#include "tracer/base/rule/kernel_pattern.h"
#include "tracer/base/rule/loglevel.h"
#include "tracer/base/rule/sample.h"
#include "tracer/base/base.h"
#include "tracer/base/lexer.h"

void rule_deinit(struct rule *r)
{
	size_t i;

	for (i = 0; i < r->except_count; i++)
		free(r->except[i]);
	free(r->except);
	filter_put(r->filter);
	free(r->pattern);
	free(r->file);
	for (i = 0; i < r->key_count; i++)
		event_key_deinit(&r->keys[i]);
	free(r->text);
	free(r->source);
	*r = (struct rule){ 0 };
}

int rule_copy(const struct rule *from, struct rule *to)
{
	size_t i;

	*to = *from;
	to->filter = from->filter ? filter_get(from->filter) : NULL;
	to->text = strdup(from->text);
	to->source = strdup(from->source);
	to->pattern = strdup(from->pattern);
	to->file = from->file ? strdup(from->file) : NULL;
	to->except = calloc(from->except_count + 1, sizeof(*to->except));
	to->except_count = 0;
	for (to->key_count = 0; to->key_count < from->key_count; to->key_count++)
		if (event_key_copy(&from->keys[to->key_count], &to->keys[to->key_count]))
			goto no_memory;
	if (!to->text || !to->source || !to->pattern || !to->file != !from->file || !to->except)
		goto no_memory;
	for (i = 0; i < from->except_count; i++) {
		to->except[i] = strdup(from->except[i]);
		if (!to->except[i])
			goto no_memory;
		to->except_count++;
	}
	return 0;
no_memory:
	rule_deinit(to);
	return -ENOMEM;
}

/*
 * Checks that an event's name can have these bytes (app/registration.c has the same rule). *at: the
 * first other byte.
 */
static const char *check_bytes(const char *p, size_t *at)
{
	size_t len = strlen(p), n;

	for (*at = 0; *at < len; *at += n) {
		unsigned char c = (unsigned char)p[*at];

		n = md_utf8_char((const unsigned char *)p + *at, len - *at);
		if (!n)
			return "not UTF-8";
		if (c < 0x20 || c == 0x7f || (c == 0xc2 && (unsigned char)p[*at + 1] < 0xa0))
			return "a control character in a pattern";
		if (c == ' ' || c == '"' || c == '\'')
			return "an event's name has no blanks or quotes";
		if (c == '\\') {
			if (p[*at + 1] != '*')
				return "a backslash is allowed only before '*'";
			n = 2;
		}
	}
	return NULL;
}

static int check_part(struct scan *s, struct word *w, size_t begin, size_t end, const char *what)
{
	if (begin == end)
		return scan_fail(s, word_column(w, begin), "the %s is missing; '*' matches any",
				 what);
	/* Twice, because each star of a name is written with a backslash. */
	if (end - begin > 2 * TRAIL_NAME_MAX)
		return scan_fail(s, word_column(w, begin), "the %s is too long", what);
	return 0;
}

/* Whether the pattern has a star that matches any run of characters, a colon included. */
static bool has_star(const char *pattern)
{
	for (; *pattern; pattern++)
		if (*pattern == '\\' && pattern[1])
			pattern++;
		else if (*pattern == '*')
			return true;
	return false;
}

/*
 * A pattern is provider:name; a pattern without a colon must have a star, which matches the colon.
 * file (may be NULL): as krule_check has it.
 */
static int check_pattern(struct scan *s, struct word *w, bool kernel, char **file)
{
	const char *text = word_text(w), *colon = strchr(text, ':'), *wrong;
	size_t at;
	int ret;

	if (kernel)
		return krule_check(s, w, file);
	if (!strcmp(text, "*"))
		return 0;
	wrong = check_bytes(text, &at);
	if (wrong)
		return scan_fail(s, word_column(w, at), "%s", wrong);
	if (!*text)
		return scan_fail(s, word_column(w, 0),
				 "the pattern is empty; '*' matches any event");
	if (!colon && has_star(text))
		return check_part(s, w, 0, strlen(text), "pattern");
	if (!colon && *text == '@')
		return scan_fail(s, word_column(w, 0), "hooks belong in rules of kernel/events");
	if (!colon)
		return scan_fail(s, word_column(w, 0), "no provider in '%.60s': events of "
				 "applications are provider:name, so a pattern is for instance "
				 "'%.60s:*'; tracepoints of the kernel belong in kernel/events",
				 text, text);
	ret = check_part(s, w, 0, (size_t)(colon - text), "provider");
	if (!ret)
		ret = check_part(s, w, (size_t)(colon - text) + 1, strlen(text), "name");
	return ret;
}

static const char *const keywords[] = { "except", "loglevel", "with", "if", "as" };

static bool is_keyword(struct word *w)
{
	return word_is(w, "except") || word_is(w, "loglevel") || word_is(w, "with") ||
	       word_is(w, "if");
}

static int parse_pattern(struct scan *s, struct word *w, struct rule *r)
{
	const char *comma;
	int ret = scan_word(s, false, w);

	if (ret)
		return ret;
	if (is_keyword(w))
		return scan_fail(s, word_column(w, 0), "a pattern is missing before '%s'",
				 word_text(w));
	comma = strchr(word_text(w), ',');
	if (comma && !w->quoted)
		return scan_fail(s, word_column(w, (size_t)(comma - word_text(w))),
				 "a rule has one pattern; lists with commas follow 'except'");
	ret = check_pattern(s, w, r->kernel, &r->file);
	if (ret)
		return ret;
	r->pattern = strdup(word_text(w));
	r->kind = r->kernel ? krule_kind(word_text(w)) : RULE_EVENTS;
	r->keys[0].place = strdup(word_text(w));
	r->key_count = 1;
	return r->pattern && r->keys[0].place ? 0 : -ENOMEM;
}

static int check_except(struct scan *s, struct word *w, const struct rule *r)
{
	int ret = check_pattern(s, w, r->kernel, NULL);

	return !ret && r->kernel ? krule_check_except(s, w, r->kind) : ret;
}

static int add_except(struct rule *r, const char *pattern)
{
	if (!array_room(r->except, r->except_count + 1))
		return -ENOMEM;
	r->except[r->except_count] = strdup(pattern);
	if (!r->except[r->except_count])
		return -ENOMEM;
	r->except_count++;
	return 0;
}

static int parse_except(struct scan *s, struct word *w, struct rule *r)
{
	for (;;) {
		int ret;

		scan_blanks(s);
		if (scan_at_end(s) || s->line[s->at] == ',')
			return scan_fail(s, s->at, "a pattern is missing here");
		ret = scan_word(s, true, w);
		if (!ret)
			ret = check_except(s, w, r);
		if (!ret)
			ret = add_except(r, word_text(w));
		if (ret)
			return ret;
		scan_blanks(s);
		if (s->line[s->at] != ',')
			return 0;
		s->at++;
	}
}

static int fail_unexpected(struct scan *s, struct word *w)
{
	size_t len = strcspn(word_text(w), "(");
	const char *near = nearest(word_text(w), len, keywords, 5);
	int column = word_column(w, 0);

	if (word_is(w, "except"))
		return scan_fail(s, column, "'except' comes once, right after the pattern; "
				 "separate its patterns with commas");
	if (word_is(w, "loglevel"))
		return scan_fail(s, column, "'loglevel' comes once");
	if (word_is(w, "as"))
		return scan_fail(s, column, "only probes of the kernel get a name by 'as', right "
				 "after the pattern");
	near = near ? near : scan_near_stop(s, word_text(w), len);
	if (near)
		return scan_fail(s, column, "no such keyword '%.*s'; did you mean '%s'?",
				 (int)(len < 60 ? len : 60), word_text(w), near);
	if (!strcmp(word_text(w), "*") || strchr(word_text(w), ':'))
		return scan_fail(s, column, "a rule has one pattern");
	return scan_fail(s, column, "'%.60s' is not expected here; a pattern is followed by "
			 "'except', 'loglevel', 'with' and 'if'", word_text(w));
}

static int parse_with(struct scan *s, struct word *w, struct rule *r)
{
	int ret;

	if (!r->kernel)
		return scan_fail(s, word_column(w, 0),
				 "only rules of the kernel domain have 'with'");
	if (r->keys[0].extra.count || r->data)
		return scan_fail(s, word_column(w, 0),
				 "'with' comes once; separate its expressions with commas");
	if (r->kind == RULE_SYSCALLS)
		return krule_parse_data(s, w, r);
	ret = krule_check_with(s, w, r);
	return ret ? ret : extra_parse(s, &r->keys[0].extra);
}

static int parse_clauses(struct scan *s, struct word *w, struct rule *r, struct md_buf *spec)
{
	for (;;) {
		int ret;

		scan_blanks(s);
		if (scan_done(s))
			return 0;
		ret = scan_word(s, false, w);
		if (ret)
			return ret;
		if (word_is(w, "with") && (!spec->len || !r->kernel)) {
			ret = parse_with(s, w, r);
			if (ret)
				return ret;
			continue;
		}
		if (word_is(w, "as") && r->kernel && !r->except_count) {
			ret = krule_parse_name(s, w, r);
			if (ret)
				return ret;
			continue;
		}
		if (word_is(w, "except") && !r->except_count && !spec->len)
			ret = parse_except(s, w, r);
		else if (word_is(w, "loglevel") && r->kernel)
			return scan_fail(s, word_column(w, 0), "kernel events have no log levels");
		else if (word_is(w, "loglevel") && !spec->len)
			ret = rule_parse_loglevel(s, r, spec);
		else if (word_is(w, "if"))
			return filter_parse(s, r->kernel ? DOMAIN_KERNEL : DOMAIN_USER,
					    &r->filter);
		else
			ret = fail_unexpected(s, w);
		if (ret)
			return ret;
	}
}

static int print_rule(struct rule *r, struct md_buf *spec)
{
	struct md_buf text = MD_BUF_INIT;
	size_t i;

	word_print(r->pattern, &text);
	sample_print_rate(r, &text);
	if (r->keys[0].label)
		md_buf_printf(&text, " as %s", r->keys[0].label);
	for (i = 0; i < r->except_count; i++) {
		md_buf_puts(&text, i ? "," : " except ");
		word_print(r->except[i], &text);
	}
	md_buf_puts(&text, r->data ? " with data" : r->keys[0].extra.count ? " with " : "");
	extra_print(&r->keys[0].extra, &text);
	if (spec->len) {
		md_buf_puts(&text, " loglevel ");
		md_buf_put(&text, spec->data, spec->len);
	}
	if (r->filter) {
		md_buf_puts(&text, " if ");
		i = text.len;
		filter_print(r->filter, &text);
		if (!text.failed)
			r->filter_digest = hash_bytes(HASH_START, text.data + i, text.len - i);
	}
	/* The filter of a rule on functions includes names from its pattern and its exceptions. */
	if (r->kind == RULE_FUNCTIONS && !text.failed)
		r->filter_digest = hash_bytes(HASH_START, text.data, text.len);
	md_buf_str(&text);
	if (text.failed || spec->failed) {
		md_buf_deinit(&text);
		return -ENOMEM;
	}
	r->text = text.data;
	return 0;
}

/* What the user wrote, from byte `begin` to where the scanner is. */
static int set_source(const struct scan *s, size_t begin, struct rule *r)
{
	size_t end = s->at;

	while (end > begin && strchr(" \t\r", s->line[end - 1]))
		end--;
	/* The normalized text, with two signs before it, must be accepted as a line. */
	if (end - begin > RULE_LINE_MAX || strlen(r->text) + 3 > RULE_LINE_MAX)
		return scan_fail(s, begin, "the rule with its escapes has more than %u bytes",
				 RULE_LINE_MAX - 3);
	if (r->filter)
		filter_set_begin(r->filter, begin);
	extra_set_begin(&r->keys[0].extra, begin);
	r->source = strndup(s->line + begin, end - begin);
	return r->source ? 0 : -ENOMEM;
}

static int parse(struct scan *s, enum domain domain, struct rule *out)
{
	struct word w = { 0 };
	struct md_buf spec = MD_BUF_INIT;
	struct rule r = { .level_max = LEVEL_COUNT - 1, .kernel = domain == DOMAIN_KERNEL };
	size_t begin;
	int ret;

	scan_blanks(s);
	begin = s->at;
	ret = parse_pattern(s, &w, &r);
	if (!ret && r.kind == RULE_SAMPLES)
		ret = sample_parse_rate(s, &w, &r);
	if (!ret)
		ret = parse_clauses(s, &w, &r, &spec);
	if (!ret)
		ret = print_rule(&r, &spec);
	if (!ret)
		ret = set_source(s, begin, &r);
	if (!ret && r.kind == RULE_FUNCTIONS)
		ret = krule_add_names(s, &r);
	if (!ret && r.kind == RULE_CALL)
		ret = krule_split_call(&r);
	if (!ret && r.data)
		ret = krule_split_data(&r);
	word_deinit(&w);
	md_buf_deinit(&spec);
	if (ret) {
		rule_deinit(&r);
		return ret == -ENOMEM ? tr_fail(s->err, ret, "out of memory") : ret;
	}
	*out = r;
	return 0;
}

int rule_make(const struct scan *s, size_t begin, const char *pattern, struct filter *filter,
	      struct rule *out)
{
	struct rule r = { .level_max = LEVEL_COUNT - 1, .filter = filter,
			  .pattern = strdup(pattern), .key_count = 1,
			  .keys = { { .place = strdup(pattern) } } };
	struct md_buf none = MD_BUF_INIT;
	int ret = r.pattern && r.keys[0].place ? print_rule(&r, &none) : -ENOMEM;

	if (!ret)
		ret = set_source(s, begin, &r);
	if (ret) {
		rule_deinit(&r);
		return ret == -ENOMEM ? tr_fail(s->err, ret, "out of memory") : ret;
	}
	*out = r;
	return 0;
}

int rule_parse(struct scan *s, enum domain domain, const char *const *stops, struct rule *out)
{
	struct scan own = { s->line, s->at, s->err, stops };
	int ret = parse(&own, domain, out);

	s->at = own.at;
	return ret;
}
