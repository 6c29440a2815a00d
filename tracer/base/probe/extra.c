// SPDX-License-Identifier: GPL-2.0-or-later
/* Parses the extra data of a rule: see extra.h. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/base/base.h"
#include "tracer/base/probe/extra.h"

#define TEXT_MAX 512    /* bytes of an expression */

static const char *const types[] = { "u8",  "u16", "u32", "u64",    "s8",     "s16",
				     "s32", "s64", "string", "ustring" };

bool extra_is_string(const char *type)
{
	return !strcmp(type, "string") || !strcmp(type, "ustring");
}

void extra_deinit(struct extra *x)
{
	for (size_t i = 0; i < x->count; i++) {
		free(x->items[i].text);
		free(x->items[i].before);
		free(x->items[i].from);
	}
	free(x->items);
	free(x->line);
	*x = (struct extra){ 0 };
}

int extra_add(struct extra *x, const struct extra_item *i)
{
	struct extra_item *to;

	if (!array_room(x->items, x->count + 1))
		return -ENOMEM;
	to = &x->items[x->count];
	*to = *i;
	to->text = strdup(i->text);
	to->before = to->from = NULL;
	to->closers = 0;
	to->as[0] = '\0';
	x->count += to->text != NULL;
	return to->text ? 0 : -ENOMEM;
}

int extra_copy(const struct extra *from, struct extra *to)
{
	int ret = 0;

	*to = (struct extra){ .line = from->line ? strdup(from->line) : NULL };
	if (from->line && !to->line)
		ret = -ENOMEM;
	for (size_t i = 0; i < from->count && !ret; i++)
		ret = extra_add(to, &from->items[i]);
	if (ret)
		extra_deinit(to);
	return ret;
}

int extra_compare(const struct extra *a, const struct extra *b)
{
	int c = (a->count > b->count) - (a->count < b->count);

	for (size_t i = 0; i < a->count && !c; i++) {
		const struct extra_item *x = &a->items[i], *y = &b->items[i];

		c = strcmp(x->text, y->text);
		c = c ? c : strcmp(x->type, y->type);
		c = c ? c : x->named - y->named;
		c = c ? c : strcmp(x->name, y->name);
	}
	return c;
}

static void print_item(const struct extra_item *i, struct md_buf *out)
{
	md_buf_printf(out, "%s%s%s", i->text, *i->type ? ":" : "", i->type);
	if (i->named)
		md_buf_printf(out, " as %s", i->name);
}

void extra_print(const struct extra *x, struct md_buf *out)
{
	for (size_t i = 0; i < x->count; i++) {
		md_buf_puts(out, i ? ", " : "");
		print_item(&x->items[i], out);
	}
}

void extra_put(const struct extra_item *i, const char *from, const char *type, struct md_buf *out)
{
	md_buf_printf(out, " %s=%s%s", i->name, i->before, from ? from : i->from);
	for (unsigned int n = 0; n < i->closers; n++)
		md_buf_putc(out, ')');
	md_buf_printf(out, ":%s", type && !*i->as ? type : i->as);
}

const struct extra_item *extra_find(const struct extra *x, const char *name, size_t len)
{
	for (size_t i = 0; i < x->count; i++)
		if (!strncmp(x->items[i].name, name, len) && !x->items[i].name[len])
			return &x->items[i];
	return NULL;
}

int extra_fail(const struct extra *x, const struct extra_item *i, size_t at, int code,
	       struct tr_err *err, const char *fmt, ...)
{
	char sentence[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	return tr_fail_at(err, code, x->line, (int)(i->column + at), "%s", sentence);
}

/* ---- one expression ---- */

/* At the end of a word: an expression has no blanks and commas. */
static bool at_word_end(const struct scan *s)
{
	return scan_at_end(s) || strchr(" \t,", s->line[s->at]);
}

static size_t word_length(const char *p)
{
	return strcspn(p, " \t\n,");
}

static int fail_at(const struct scan *s, size_t at, const char *why)
{
	return scan_fail(s, at, "%s", why);
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static size_t name_length(const char *p)
{
	size_t n = 0;

	if (isdigit((unsigned char)*p))
		return 0;
	while (is_name_char(p[n]))
		n++;
	return n;
}

/* Skips `+OFF(`, `-OFF(`, `+uOFF(`. */
static int parse_wrap(struct scan *s)
{
	const char *p = s->line;
	size_t at = s->at + 1, digits;
	bool hex;

	at += p[at] == 'u';
	hex = p[at] == '0' && p[at + 1] == 'x' && word_length(p + at) > 2;
	at += hex ? 2 : 0;
	for (digits = 0; digits < 16; digits++, at++)
		if (hex ? !isxdigit((unsigned char)p[at]) : !isdigit((unsigned char)p[at]))
			break;
	if (!digits || p[at] != '(')
		return fail_at(s, at, "memory is given as +OFF(EXPR), for instance +8($arg1)");
	s->at = at + 1;
	return 0;
}

static bool is_number(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isdigit((unsigned char)p[i]))
			return false;
	return n && n <= 3;
}

/* Skips `$argN`, `%REG`, `NAME`. */
static int parse_root(struct scan *s, struct extra_item *item)
{
	const char *p = s->line + s->at;
	size_t begin = s->at, n;

	item->root = begin;
	if (*p == '%' || *p == '$')
		s->at++;
	n = name_length(s->line + s->at);
	if (!n)
		return fail_at(s, s->at,
			       "a place is missing: $argN, $retval, $comm, $stackN, %REG, argN or "
			       "the name of an argument");
	s->at += n;
	item->root_len = s->at - begin;
	if (*p != '$' || (n == 6 && !strncmp(p, "$retval", 7)) ||
	    (n == 4 && !strncmp(p, "$comm", 5)) || (n == 5 && !strncmp(p, "$stack", 6)) ||
	    (n > 3 && !strncmp(p, "$arg", 4) && is_number(p + 4, n - 3) && p[4] != '0') ||
	    (n > 5 && !strncmp(p, "$stack", 6) && is_number(p + 6, n - 5)))
		return 0;
	return fail_at(s, begin, "no such place; there are $arg1 …, $retval, $comm, $stack, "
		       "$stack0 …");
}

static int parse_members(struct scan *s, struct extra_item *item)
{
	unsigned int steps = 0;

	while (s->line[s->at] == '.' || s->line[s->at] == '-') {
		size_t n, dot = s->at;

		if (item->wraps)
			return fail_at(s, dot, "members follow a place, not +OFF(…)");
		if (s->line[dot] == '-' && s->line[dot + 1] != '>')
			return fail_at(s, dot, "a member follows '->' or '.'");
		s->at += s->line[dot] == '-' ? 2 : 1;
		n = name_length(s->line + s->at);
		if (!n)
			return fail_at(s, s->at, "the name of a member is missing");
		if (++steps > EXTRA_STEPS_MAX)
			return fail_at(s, dot, "the expression has more than 16 members");
		s->at += n;
		item->members = true;
	}
	return 0;
}

static int parse_expression(struct scan *s, struct extra_item *item)
{
	size_t begin = s->at;
	int ret = 0;

	while (!ret && (s->line[s->at] == '+' || s->line[s->at] == '-')) {
		if (++item->wraps > EXTRA_STEPS_MAX)
			return fail_at(s, s->at, "the expression has more than 16 pointers");
		ret = parse_wrap(s);
	}
	if (!ret)
		ret = parse_root(s, item);
	if (!ret)
		ret = parse_members(s, item);
	for (unsigned int i = 0; !ret && i < item->wraps; i++)
		if (at_word_end(s) || s->line[s->at++] != ')')
			ret = fail_at(s, s->at, "')' is missing");
	if (ret)
		return ret;
	if (!at_word_end(s) && s->line[s->at] != ':')
		return fail_at(s, s->at, "not expected here; an expression is for instance "
			       "skb->len, $arg1 or +8($arg1):u32");
	if (s->at - begin > TEXT_MAX)
		return fail_at(s, begin, "the expression is too long");
	item->root -= begin;
	item->column = begin;
	item->text = strndup(s->line + begin, s->at - begin);
	return item->text ? 0 : -ENOMEM;
}

static int parse_type(struct scan *s, struct extra_item *item)
{
	const char *type = s->line + s->at + 1, *near;
	size_t n;

	if (at_word_end(s))
		return 0;
	n = word_length(type);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strlen(types[i]) == n && !memcmp(types[i], type, n)) {
			snprintf(item->type, sizeof(item->type), "%s", types[i]);
			s->at += 1 + n;
			return 0;
		}
	near = nearest(type, n, types, sizeof(types) / sizeof(types[0]));
	if (!near)
		return fail_at(s, s->at + 1, "types are u8 to u64, s8 to s64, string and ustring");
	return scan_fail(s, s->at + 1, "no such type; did you mean '%s'?", near);
}

/* ---- the clause ---- */

static bool is_word(const struct scan *s, const char *word)
{
	const char *p = s->line + s->at;
	size_t n = strlen(word);

	return !strncmp(p, word, n) && (!p[n] || strchr(" \t\n", p[n]));
}

/* The field's name without `as`: the last member, or the place. False: it is too long. */
static bool set_default_name(struct extra_item *item)
{
	const char *p = item->text + item->root, *end = p + item->root_len;

	if (item->members) {
		end = item->text + strlen(item->text);
		for (p = end; is_name_char(p[-1]);)
			p--;
	}
	p += *p == '$' || *p == '%';
	snprintf(item->name, sizeof(item->name), "%.*s", (int)(end - p), p);
	return (size_t)(end - p) < EXTRA_NAME_MAX;
}

static int parse_name(struct scan *s, struct extra_item *item)
{
	bool fits = set_default_name(item);
	size_t n;

	scan_blanks(s);
	if (!is_word(s, "as"))
		return fits ? 0 : fail_at(s, s->at, "the name is too long for a field; give "
					  "another with 'as NAME'");
	item->named = true;
	s->at += 2;
	scan_blanks(s);
	n = name_length(s->line + s->at);
	if (!n || n != word_length(s->line + s->at))
		return fail_at(s, s->at + n, "a field's name has letters, digits and '_'");
	if (n >= EXTRA_NAME_MAX)
		return fail_at(s, s->at, "a field's name has at most 31 bytes");
	snprintf(item->name, sizeof(item->name), "%.*s", (int)n, s->line + s->at);
	s->at += n;
	scan_blanks(s);
	return 0;
}

static int parse_item(struct scan *s, struct extra *x)
{
	size_t begin = s->at;
	struct extra_item *item;
	int ret;

	if (!array_room(x->items, x->count + 1))
		return -ENOMEM;
	item = &x->items[x->count];
	*item = (struct extra_item){ 0 };
	ret = at_word_end(s) || is_word(s, "if")
		      ? fail_at(s, begin, "an expression is missing here")
		      : parse_expression(s, item);
	if (!ret)
		ret = parse_type(s, item);
	if (!ret)
		ret = parse_name(s, item);
	if (!ret && extra_find(x, item->name, strlen(item->name)))
		ret = fail_at(s, begin, "two fields have the same name; give one another with "
			      "'as NAME'");
	if (!ret && !strcmp(item->name, EXTRA_SIGN))
		ret = fail_at(s, begin, "a field of this name says which extra data is not "
			      "available; give another with 'as NAME'");
	if (!ret && (!strcmp(item->name, "ip") || !strcmp(item->name, "parent_ip") ||
		     !strncmp(item->name, "common_", 7) || !strncmp(item->name, "__", 2)))
		ret = fail_at(s, begin, "the kernel has a field of this name; give another with "
			      "'as NAME'");
	if (ret)
		free(item->text);
	else
		x->count++;
	return ret;
}

void extra_set_begin(struct extra *x, size_t begin)
{
	if (!x->line)
		return;
	memmove(x->line, x->line + begin, strlen(x->line + begin) + 1);
	for (size_t i = 0; i < x->count; i++)
		x->items[i].column -= begin;
}

int extra_parse(struct scan *s, struct extra *out)
{
	struct scan own = { s->line, s->at, s->err, NULL };
	struct extra x = { 0 };
	int ret = 0;
	bool more = true;

	while (more && !ret) {
		scan_blanks(&own);
		ret = x.count >= EXTRA_MAX
			      ? fail_at(&own, own.at, "a rule has at most 32 expressions")
			      : parse_item(&own, &x);
		more = !ret && own.line[own.at] == ',';
		own.at += more;
	}
	if (!ret && !(x.line = strndup(s->line, own.at)))
		ret = -ENOMEM;
	if (ret) {
		extra_deinit(&x);
		return ret == -ENOMEM ? tr_fail(s->err, ret, "out of memory") : ret;
	}
	s->at = own.at;
	*out = x;
	return 0;
}
