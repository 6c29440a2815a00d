/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tracer/base/base.h"
#include "tracer/base/lexer.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_end(char c)
{
	return c == '\0' || c == '\n';
}

void scan_blanks(struct scan *s)
{
	while (is_blank(s->line[s->at]))
		s->at++;
}

bool scan_at_end(const struct scan *s)
{
	return is_end(s->line[s->at]);
}

const char scan_pattern[] = "PATTERN";

static bool begins_pattern(const char *at)
{
	static const char *const others[] = { "if", "except", "loglevel", "as", "with", "and",
					      "or", "AND", "OR", "eq", "ne" };
	size_t len = strcspn(at, " \t\r\n,()");

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strlen(others[i]) == len && !strncmp(at, others[i], len))
			return false;
	return *at && (isalnum((unsigned char)*at) || strchr("_\"*@?", *at));
}

const char *scan_stop(const struct scan *s)
{
	const char *at = s->line + s->at;

	for (size_t i = 0; s->stops && s->stops[i]; i++) {
		size_t n = strlen(s->stops[i]);

		if (s->stops[i] == scan_pattern) {
			if (begins_pattern(at))
				return scan_pattern;
			continue;
		}
		if (!strncmp(at, s->stops[i], n) && (!at[n] || strchr(" \t\r\n,()", at[n])))
			return s->stops[i];
	}
	return NULL;
}

bool scan_done(const struct scan *s)
{
	return scan_at_end(s) || scan_stop(s);
}

const char *scan_near_stop(const struct scan *s, const char *word, size_t len)
{
	size_t count = 0;

	while (s->stops && s->stops[count])
		count++;
	return count ? nearest(word, len, s->stops, count) : NULL;
}

int scan_fail(const struct scan *s, size_t column, const char *fmt, ...)
{
	char sentence[sizeof(s->err->sentence)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	return tr_fail_at(s->err, -EINVAL, s->line, (int)column, "%s", sentence);
}

static int digit_value(char c, int base)
{
	int d = 99;

	if (c >= '0' && c <= '9')
		d = c - '0';
	else if (c >= 'a' && c <= 'f')
		d = c - 'a' + 10;
	else if (c >= 'A' && c <= 'F')
		d = c - 'A' + 10;
	return d < base ? d : -1;
}

/* Reads the digits of \xH[H] or \O[O[O]]; s->at is at the first digit. */
static int scan_code(struct scan *s, int base, int max_digits, struct md_buf *out)
{
	int value = 0, n = 0, d;

	while (n < max_digits && (d = digit_value(s->line[s->at], base)) >= 0) {
		value = value * base + d;
		s->at++;
		n++;
	}
	if (!n || !value || value > 255)
		return scan_fail(s, s->at, "this escape is not a character");
	md_buf_putc(out, (char)value);
	return 0;
}

int scan_escape(struct scan *s, struct md_buf *out)
{
	static const char from[] = "abfnrtv\\\"'?", to[] = "\a\b\f\n\r\t\v\\\"'?";
	char c = s->line[s->at];
	const char *p;

	if (c == 'x') {
		s->at++;
		return scan_code(s, 16, 2, out);
	}
	if (digit_value(c, 8) >= 0)
		return scan_code(s, 8, 3, out);
	p = c ? strchr(from, c) : NULL;
	if (!p)
		return scan_fail(s, s->at, "no such escape; a backslash itself is \\\\ in quotes");
	md_buf_putc(out, to[p - from]);
	s->at++;
	return 0;
}

/* Reads the rest of a quoted word; s->at is after the opening quote. */
static int scan_quoted(struct scan *s, struct word *w, bool comma)
{
	int ret = 0;

	while (!ret) {
		char c = s->line[s->at];

		if (is_end(c))
			return scan_fail(s, w->column, "the quote is never closed");
		s->at++;
		if (c == '"')
			break;
		if (c == '\\')
			ret = scan_escape(s, &w->text);
		else
			md_buf_putc(&w->text, c);
	}
	if (ret)
		return ret;
	if (!scan_at_end(s) && !is_blank(s->line[s->at]) && !(comma && s->line[s->at] == ','))
		return scan_fail(s, s->at, "a blank is missing after the quote");
	return 0;
}

int scan_word(struct scan *s, bool comma, struct word *w)
{
	int ret = 0;

	scan_blanks(s);
	md_buf_reset(&w->text);
	w->column = s->at;
	w->quoted = s->line[s->at] == '"';
	if (w->quoted) {
		s->at++;
		ret = scan_quoted(s, w, comma);
	} else {
		while (!scan_at_end(s) && !is_blank(s->line[s->at]) &&
		       !(comma && s->line[s->at] == ',')) {
			if (s->line[s->at] == '"')
				return scan_fail(s, s->at, "a quote inside a word; put the whole "
						 "word in quotes");
			md_buf_putc(&w->text, s->line[s->at++]);
		}
		if (s->at == w->column)
			return scan_fail(s, s->at, "a word is missing here");
	}
	md_buf_str(&w->text);
	if (!ret && w->text.failed)
		return tr_fail(s->err, -ENOMEM, "out of memory");
	return ret;
}

int words_each(const char *text, int (*fn)(void *arg, struct scan *s, struct word *w), void *arg,
	       struct tr_err *err)
{
	struct word w = { 0 };
	int line = 0, ret = 0;

	while (*text && !ret) {
		struct scan s = { text, 0, err, NULL };

		line++;
		for (scan_blanks(&s); text[0] != '#' && !scan_at_end(&s) && !ret; scan_blanks(&s)) {
			ret = scan_word(&s, true, &w);
			if (!ret)
				ret = fn(arg, &s, &w);
			scan_blanks(&s);
			s.at += s.line[s.at] == ',';
		}
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	if (err)
		err->line = line;
	word_deinit(&w);
	return ret;
}

struct token scan_look(struct scan *s)
{
	struct token t;

	scan_blanks(s);
	t.text = s->line + s->at;
	t.len = strcspn(t.text, " \t\n,()");
	if (!t.len && !scan_at_end(s))
		t.len = 1;
	return t;
}

struct token scan_take(struct scan *s)
{
	struct token t = scan_look(s);

	s->at += t.len;
	return t;
}

bool scan_take_if(struct scan *s, const char *word)
{
	bool is = token_is(scan_look(s), word);

	if (is)
		scan_take(s);
	return is;
}

bool token_is(struct token t, const char *word)
{
	return t.len == strlen(word) && !strncmp(t.text, word, t.len);
}

const char *word_text(struct word *w)
{
	return md_buf_str(&w->text);
}

bool word_is(struct word *w, const char *keyword)
{
	return !w->quoted && !strcmp(word_text(w), keyword);
}

int word_column(const struct word *w, size_t i)
{
	return (int)(w->quoted ? w->column : w->column + i);
}

void word_deinit(struct word *w)
{
	md_buf_deinit(&w->text);
}

void word_print(const char *text, struct md_buf *out)
{
	const char *p;

	if (*text && !strpbrk(text, " \t\n,\"") && !strchr("#!~", *text)) {
		md_buf_puts(out, text);
		return;
	}
	md_buf_putc(out, '"');
	for (p = text; *p; p++) {
		if (*p == '"' || *p == '\\')
			md_buf_putc(out, '\\');
		if (*p == '\n')
			md_buf_puts(out, "\\n");
		else
			md_buf_putc(out, *p);
	}
	md_buf_putc(out, '"');
}

void lexer_quote_path(const char *path, struct md_buf *out)
{
	bool quote = strpbrk(path, " \"\\#") != NULL;

	if (quote)
		md_buf_putc(out, '"');
	for (; *path; path++) {
		if (*path == '"' || *path == '\\')
			md_buf_putc(out, '\\');
		md_buf_putc(out, *path);
	}
	md_buf_puts(out, quote ? "\"\n" : "\n");
}
