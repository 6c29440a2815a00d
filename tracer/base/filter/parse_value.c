/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser of filters: numbers, strings, fields and contexts. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "metadata/name.h"
#include "tracer/base/filter/parse.h"
#include "tracer/base/context/kernel_context.h"
#include "tracer/base/base.h"
#include "tracer/base/context/perfcounter.h"
#include "tracer/base/lexer.h"

/* ---- numbers ---- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int digit_value(char c)
{
	return is_digit(c)            ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : 99;
}

/* Parses the suffix at p->at; *u: it has a u. */
static bool parse_suffix(struct filter_parse *p, bool *u)
{
	static const char *const all[] = { "", "l", "ll", "u", "ul", "ull", "lu", "llu" };
	const char *s = p->line + p->at;
	size_t n = 0, i;

	while (filter_is_name(s[n]))
		n++;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strlen(all[i]) == n && !strncasecmp(s, all[i], n)) {
			*u = i >= 3;
			p->at += n;
			return true;
		}
	if (is_digit(*s))
		filter_fail(p, p->at,
			    "'%c' is not an octal digit; a number that begins with 0 is octal",
			    *s);
	else
		filter_fail(p, p->at, "'%.*s' cannot follow a number", n < 60 ? (int)n : 60,
			    s);
	return false;
}

static bool parse_integer(struct filter_parse *p, uint64_t *value, bool *u)
{
	const char *s = p->line + p->at;
	size_t begin = p->at;
	unsigned int base = 10;

	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
		base = 16;
		p->at += 2;
		if (digit_value(p->line[p->at]) >= 16) {
			filter_fail(p, p->at, "a hexadecimal digit is missing after '%.2s'", s);
			return false;
		}
	} else if (s[0] == '0') {
		base = 8;
	}
	for (*value = 0; (unsigned int)digit_value(p->line[p->at]) < base; p->at++)
		if (__builtin_mul_overflow(*value, base, value) ||
		    __builtin_add_overflow(*value, (uint64_t)digit_value(p->line[p->at]), value)) {
			filter_fail(p, begin, "the number does not fit into 64 bits");
			return false;
		}
	return parse_suffix(p, u);
}

/* Digits, then a point or an exponent. */
static bool is_float(const char *s)
{
	while (is_digit(*s))
		s++;
	if (*s == '.')
		return true;
	return (*s == 'e' || *s == 'E') &&
	       (is_digit(s[1]) || ((s[1] == '-' || s[1] == '+') && is_digit(s[2])));
}

static bool parse_float(struct filter_parse *p, double *value)
{
	char *end;

	*value = strtod(p->line + p->at, &end);
	if (!isfinite(*value)) {
		filter_fail(p, p->at, "the number is too large for floating point");
		return false;
	}
	p->at = (size_t)(end - p->line);
	if (*end && strchr("fFlL", *end) && !filter_is_name(end[1]))
		p->at++;
	else if (filter_is_name(*end) || *end == '.') {
		filter_fail(p, p->at, "'%c' cannot follow a number", *end);
		return false;
	}
	return true;
}

struct filter_node *filter_parse_number(struct filter_parse *p)
{
	struct filter_node *n = filter_node(p, NODE_NUMBER, p->at);
	const char *s = p->line + p->at;
	bool u = false;

	if (!n)
		return NULL;
	if (!(s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) && is_float(s)) {
		n->value.type = FILTER_FLOAT;
		if (!parse_float(p, &n->value.f))
			return NULL;
	} else {
		if (!parse_integer(p, &n->value.u, &u))
			return NULL;
		n->value.type = u || n->value.u > INT64_MAX ? FILTER_UNSIGNED : FILTER_SIGNED;
	}
	n->length = (uint32_t)p->at - n->column;
	return n;
}

/* ---- strings ---- */

/* Copies one character. */
static bool copy_char(struct filter_parse *p, struct md_buf *out)
{
	const unsigned char *s = (const unsigned char *)p->line + p->at;
	size_t n = md_utf8_char(s, strnlen((const char *)s, 4));

	if (!n) {
		filter_fail(p, p->at, "not UTF-8; write the byte as an escape, \\x%02x", *s);
		return false;
	}
	if (*s < 0x20 || *s == 0x7f || (*s == 0xc2 && s[1] < 0xa0)) {
		filter_fail(p, p->at, "a control character; write it as an escape");
		return false;
	}
	md_buf_put(out, s, n);
	p->at += n;
	return true;
}

static bool parse_literal(struct filter_parse *p, struct md_buf *out)
{
	size_t column = p->at++;

	while (p->line[p->at] != '"') {
		const char *s = p->line + p->at;

		if (!*s) {
			filter_fail(p, column, "the quote is never closed");
			return false;
		}
		if (s[0] == '\\' && s[1] == '*') {
			md_buf_putc(out, '*');
			p->at += 2;
		} else if (s[0] == '\\') {
			struct scan scan = { p->line, p->at + 1, p->err, NULL };

			p->ret = scan_escape(&scan, out);
			if (p->ret)
				return false;
			p->at = scan.at;
		} else if (s[0] == '*') {
			/* Neighbouring stars are merged. */
			if (!out->len || out->data[out->len - 1])
				md_buf_putc(out, '\0');
			p->at++;
		} else if (!copy_char(p, out)) {
			return false;
		}
	}
	p->at++;
	return true;
}

/* Moves the buffer's contents to the node. */
static struct filter_node *take_text(struct filter_parse *p, struct filter_node *n,
				     struct md_buf *text)
{
	md_buf_str(text);
	if (text->failed) {
		md_buf_deinit(text);
		return filter_no_memory(p);
	}
	n->text = text->data;
	n->text_length = (uint32_t)text->len;
	return n;
}

struct filter_node *filter_parse_string(struct filter_parse *p)
{
	struct filter_node *n = filter_node(p, NODE_STRING, p->at);
	struct md_buf text = MD_BUF_INIT;

	if (!n)
		return NULL;
	if (!parse_literal(p, &text)) {
		md_buf_deinit(&text);
		return NULL;
	}
	return take_text(p, n, &text);
}

/* ---- fields ---- */

/* A name of [A-Za-z0-9_], not empty; what: its kind, for the error sentence. */
static bool parse_name(struct filter_parse *p, struct md_buf *out, const char *what)
{
	size_t begin = p->at;

	while (filter_is_name(p->line[p->at]))
		p->at++;
	md_buf_put(out, p->line + begin, p->at - begin);
	if (p->at - begin > TRAIL_NAME_MAX) {
		filter_fail(p, begin, "the name is too long");
		return false;
	}
	if (p->at == begin)
		filter_fail(p, p->at, "%s is missing here", what);
	return p->at > begin;
}

/* [n] */
static bool parse_index(struct filter_parse *p, struct filter_node *n, struct md_buf *out)
{
	size_t column = p->at++;
	uint64_t index;
	bool u;

	filter_blanks(p);
	if (p->line[p->at] == '-') {
		filter_fail(p, p->at, "an index is not negative");
		return false;
	}
	if (!is_digit(p->line[p->at]) || is_float(p->line + p->at)) {
		filter_fail(p, p->at, "an index is a whole number, as in [0]");
		return false;
	}
	if (!parse_integer(p, &index, &u))
		return false;
	filter_blanks(p);
	if (p->line[p->at] != ']') {
		filter_fail(p, p->line[p->at] ? p->at : column, "a ']' is missing %s",
			    p->line[p->at] ? "here" : "for this '['");
		return false;
	}
	p->at++;
	if (n->index_count < 2)
		n->bracket[n->index_count] = (uint32_t)column;
	if (!n->index_count++)
		n->index = index;
	md_buf_printf(out, "[%llu]", (unsigned long long)index);
	return true;
}

/* Parses .name and [n] after a name, in any order. */
static bool parse_path(struct filter_parse *p, struct filter_node *n, struct md_buf *out)
{
	for (;;) {
		size_t back = p->at;

		filter_blanks(p);
		if (p->line[p->at] == '[') {
			if (!parse_index(p, n, out))
				return false;
		} else if (p->line[p->at] == '.') {
			p->at++;
			filter_blanks(p);
			md_buf_putc(out, '.');
			n->member = true;
			if (!parse_name(p, out, "a field's name"))
				return false;
		} else {
			p->at = back;
			return true;
		}
	}
}

struct filter_node *filter_parse_field(struct filter_parse *p)
{
	struct filter_node *n = filter_node(p, NODE_FIELD, p->at);
	struct md_buf text = MD_BUF_INIT;

	if (!n)
		return NULL;
	if (parse_name(p, &text, "a name")) {
		n->name_length = (uint32_t)text.len;
		if (parse_path(p, n, &text))
			return take_text(p, n, &text);
	}
	md_buf_deinit(&text);
	return NULL;
}

/* ---- contexts ---- */

static bool fail_context(struct filter_parse *p, size_t begin)
{
	const char *names[FILTER_CONTEXTS + 1], *near;
	size_t len = p->at - begin, i;

	if (len == 6 && !strncmp(p->line + begin, "cgroup", len)) {
		filter_fail(p, begin, "filters do not know cgroup: track/cgroup chooses groups");
		return false;
	}
	for (i = 0; i < FILTER_CONTEXTS; i++)
		names[i] = filter_contexts[i].name;
	names[i] = "perf:thread";
	near = nearest(p->line + begin, len, names, FILTER_CONTEXTS + 1);
	/* The kernel domain has other names for these: suggest those of applications. */
	for (i = 0; !near && i < FILTER_CONTEXTS; i++)
		if (filter_contexts[i].name[0] == 'v' &&
		    strlen(filter_contexts[i].name) == len + 1 &&
		    !strncmp(filter_contexts[i].name + 1, p->line + begin, len))
			near = filter_contexts[i].name;
	if (near)
		filter_fail(p, begin, "no such context '%.*s'; did you mean '%s'?",
			    len < 60 ? (int)len : 60, p->line + begin, near);
	else
		filter_fail(p, begin, "no such context '%.*s'", len < 60 ? (int)len : 60,
			    p->line + begin);
	return false;
}

/* perf:thread:NAME; p->at is the first colon. */
static bool parse_counter(struct filter_parse *p, struct filter_node *n, struct md_buf *out)
{
	static const char thread[] = ":thread:";
	struct perf_counter counter;
	size_t begin;

	if (strncmp(p->line + p->at, thread, strlen(thread))) {
		filter_fail(p, p->at,
			    "applications have counters of threads only: perf:thread:NAME");
		return false;
	}
	md_buf_puts(out, thread);
	p->at += strlen(thread);
	begin = p->at;
	while (filter_is_name(p->line[p->at]) || p->line[p->at] == '-' || p->line[p->at] == ':')
		p->at++;
	if (p->at == begin || p->at - begin > TRAIL_NAME_MAX) {
		filter_fail(p, begin, "the name of a counter is %s",
			    p->at == begin ? "missing here" : "too long");
		return false;
	}
	if (perf_counter_find(p->line + begin, p->at - begin, &counter)) {
		filter_fail(p, begin, "no such counter; see available/user/contexts");
		return false;
	}
	n->context = TRAIL_CONTEXT_PERF;
	n->context_name = (uint32_t)out->len;
	md_buf_put(out, p->line + begin, p->at - begin);
	return true;
}

/* A context of the kernel domain. */
static bool parse_kernel_context(struct filter_parse *p, struct filter_node *n, size_t begin)
{
	int kind, len;

	/* perf:cpu:NAME */
	while (filter_is_name(p->line[p->at]) ||
	       (p->line[p->at] == ':' && filter_is_name(p->line[p->at + 1])))
		p->at++;
	len = (int)(p->at - begin);
	kind = kcontext_kind(p->line + begin, (size_t)len, false);
	if (kind > 0 && kcontext_in_filters((uint32_t)kind)) {
		n->context = (uint32_t)kind;
		return true;
	}
	if (kind > 0 && kcontext_value_type((uint32_t)kind) != FILTER_NONE) {
		kind = -EOPNOTSUPP;
		filter_fail(p, begin, "filters cannot use '%.*s' without the kernel module",
			    len < 60 ? len : 60, p->line + begin);
	} else if (kind > 0 || (len > 5 && !strncmp(p->line + begin, "perf:", 5))) {
		kind = -EOPNOTSUPP;
		filter_fail(p, begin, "filters cannot use callstacks and counters");
	} else if (kind == -EOPNOTSUPP) {
		filter_fail(p, begin, "tracefs does not record '%.*s': %s",
			    len < 60 ? len : 60, p->line + begin, kcontext_refusal());
	} else {
		filter_fail(p, begin,
			    "no such context '%.*s'; available/kernel/contexts lists them",
			    len < 60 ? len : 60, p->line + begin);
	}
	p->ret = kind;
	return false;
}

/* The context after `$ctx.`. */
static bool parse_static_context(struct filter_parse *p, struct filter_node *n, struct md_buf *out)
{
	size_t begin = p->at, len, i;

	if (p->line[p->at] == '$') {
		filter_fail(p, p->at,
			    "an application context has no '$ctx.' before it: $app.PROVIDER:NAME");
		return false;
	}
	if (!parse_name(p, out, "the name of a context, such as vpid,"))
		return false;
	if (p->kernel)
		return parse_kernel_context(p, n, begin);
	len = p->at - begin;
	if (len == 4 && !strncmp(p->line + begin, "perf", 4) && p->line[p->at] == ':')
		return parse_counter(p, n, out);
	for (i = 0; i < FILTER_CONTEXTS; i++)
		if (strlen(filter_contexts[i].name) == len &&
		    !strncmp(filter_contexts[i].name, p->line + begin, len)) {
			n->context = filter_contexts[i].kind;
			return true;
		}
	return fail_context(p, begin);
}

/* The context after `$app.`. */
static bool parse_app_context(struct filter_parse *p, struct filter_node *n, struct md_buf *out)
{
	size_t begin = p->at;

	n->context = TRAIL_CONTEXT_APP;
	n->context_name = (uint32_t)out->len;
	if (!parse_name(p, out, "the provider of $app.PROVIDER:NAME"))
		return false;
	if (p->line[p->at] != ':') {
		filter_fail(p, p->at, "':' and a name are missing here: $app.PROVIDER:NAME");
		return false;
	}
	md_buf_putc(out, ':');
	p->at++;
	if (!parse_name(p, out, "the name of $app.PROVIDER:NAME"))
		return false;
	if (p->at - begin > TRAIL_NAME_MAX) {
		filter_fail(p, begin, "the name is too long");
		return false;
	}
	return true;
}

struct filter_node *filter_parse_context(struct filter_parse *p)
{
	struct filter_node *n = filter_node(p, NODE_CONTEXT, p->at);
	struct md_buf text = MD_BUF_INIT;
	size_t column = p->at;
	bool app, ok;

	if (!n)
		return NULL;
	app = !strncmp(p->line + p->at, "$app.", 5);
	if (app && p->kernel)
		return filter_fail(p, column,
				   "kernel events have no application contexts");
	if (!app && strncmp(p->line + p->at, "$ctx.", 5))
		return filter_fail(p, column, "'$' is followed by ctx.NAME or app.PROVIDER:NAME; "
				   "a field has no '$' before it");
	md_buf_put(&text, p->line + p->at, 5);
	p->at += 5;
	ok = app ? parse_app_context(p, n, &text) : parse_static_context(p, n, &text);
	n->name_length = (uint32_t)text.len;
	if (ok && parse_path(p, n, &text))
		return take_text(p, n, &text);
	md_buf_deinit(&text);
	return NULL;
}
