/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/tsdl/tsdl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tsdl_fail(struct tsdl_parser *p, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	if (p->failed)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	p->failed = tr_fail(p->err, -EINVAL, "%s:%d: %s", p->file, p->line, text);
	p->token = TOKEN_END;
}

void *tsdl_alloc(struct tsdl_parser *p, size_t n)
{
	struct tsdl_memory *m;

	if (p->failed)
		return NULL;
	p->t->used += n + sizeof(*m);
	m = p->t->used <= TSDL_MEMORY_MAX ? calloc(1, sizeof(*m) + n) : NULL;
	if (!m) {
		p->failed = tr_fail(p->err, -ENOMEM, "%s:%d: the types need too much memory",
				    p->file, p->line);
		p->token = TOKEN_END;
		return NULL;
	}
	m->next = p->t->memory;
	p->t->memory = m;
	return m + 1;
}

void tsdl_deinit(struct tsdl *t)
{
	struct tsdl_memory *m;

	while ((m = t->memory)) {
		t->memory = m->next;
		free(m);
	}
}

const char *tsdl_copy(struct tsdl_parser *p, const char *text)
{
	size_t n = strlen(text) + 1;
	char *copy = tsdl_alloc(p, n);

	return copy ? memcpy(copy, text, n) : "";
}

void *tsdl_grow(struct tsdl_parser *p, void *array, uint32_t count, size_t size)
{
	void *more;

	if (count & (count - 1))
		return array;
	if (count >= 1u << 24) {
		tsdl_fail(p, "a list has too many elements" OWN_LIMIT);
		return NULL;
	}
	more = tsdl_alloc(p, (count ? 2 * (size_t)count : 1) * size);
	if (more && count)
		memcpy(more, array, count * size);
	return more;
}

/* ---- tokens ---- */

static bool starts_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool at(const struct tsdl_parser *p, const char *text)
{
	size_t n = strlen(text);

	return (size_t)(p->end - p->p) >= n && !memcmp(p->p, text, n);
}

/* Moves past blanks and comments. */
static void skip_blanks(struct tsdl_parser *p)
{
	while (p->p < p->end) {
		if (at(p, "/*")) {
			for (p->p += 2; p->p < p->end && !at(p, "*/"); p->p++)
				p->line += *p->p == '\n';
			p->p += at(p, "*/") ? 2 : 0;
		} else if (at(p, "//")) {
			while (p->p < p->end && *p->p != '\n')
				p->p++;
		} else if (*p->p == ' ' || *p->p == '\t' || *p->p == '\r' || *p->p == '\n') {
			p->line += *p->p++ == '\n';
		} else {
			break;
		}
	}
}

static void put_char(struct tsdl_parser *p, size_t *n, char c)
{
	if (*n + 1 < sizeof(p->text))
		p->text[(*n)++] = c;
}

static void read_string(struct tsdl_parser *p)
{
	static const char letters[] = "abfnrtv", values[] = "\a\b\f\n\r\t\v";
	const char *letter;
	size_t n = 0;

	for (p->p++; p->p < p->end && *p->p != '"'; p->p++) {
		p->line += *p->p == '\n';
		if (*p->p != '\\' || p->p + 1 == p->end) {
			put_char(p, &n, *p->p);
			continue;
		}
		letter = *++p->p ? strchr(letters, *p->p) : NULL;
		put_char(p, &n, letter ? values[letter - letters] : *p->p);
	}
	p->text[n] = 0;
	p->token = TOKEN_STRING;
	if (p->p == p->end)
		tsdl_fail(p, "expected a quote at the end of the string" IN_CTF("C.1.6"));
	else
		p->p++;
}

static void read_number(struct tsdl_parser *p)
{
	char digits[72], *stop;
	size_t n = 0;

	while (p->p < p->end && n + 1 < sizeof(digits) && (starts_name(*p->p) || is_digit(*p->p)))
		digits[n++] = *p->p++;
	digits[n] = 0;
	errno = 0;
	p->number = strtoull(digits, &stop, 0);
	stop += strspn(stop, "uUlL");
	p->token = TOKEN_NUMBER;
	if (errno || *stop)
		tsdl_fail(p, "'%s' is not a number of 64 bits" IN_CTF("C.1.5"), digits);
}

static void read_sign(struct tsdl_parser *p)
{
	size_t n = at(p, "...") ? 3 : at(p, ":=") || at(p, "->") ? 2 : 1;

	memcpy(p->sign, p->p, n);
	p->sign[n] = 0;
	p->p += n;
	p->token = TOKEN_SIGN;
}

void tsdl_next(struct tsdl_parser *p)
{
	size_t n = 0;

	if (p->failed)
		return;
	skip_blanks(p);
	if (p->p == p->end) {
		p->token = TOKEN_END;
	} else if (starts_name(*p->p)) {
		while (p->p < p->end && (starts_name(*p->p) || is_digit(*p->p)))
			put_char(p, &n, *p->p++);
		p->text[n] = 0;
		p->token = TOKEN_NAME;
	} else if (is_digit(*p->p)) {
		read_number(p);
	} else if (*p->p == '"') {
		read_string(p);
	} else {
		read_sign(p);
	}
}

bool tsdl_is(const struct tsdl_parser *p, const char *sign)
{
	return p->token == TOKEN_SIGN && !strcmp(p->sign, sign);
}

bool tsdl_is_name(const struct tsdl_parser *p, const char *name)
{
	return p->token == TOKEN_NAME && !strcmp(p->text, name);
}

bool tsdl_take(struct tsdl_parser *p, const char *sign)
{
	if (!tsdl_is(p, sign))
		return false;
	tsdl_next(p);
	return true;
}

bool tsdl_take_name(struct tsdl_parser *p, const char *name)
{
	if (!tsdl_is_name(p, name))
		return false;
	tsdl_next(p);
	return true;
}

void tsdl_expect(struct tsdl_parser *p, const char *sign)
{
	char number[24];

	if (p->failed || tsdl_take(p, sign))
		return;
	snprintf(number, sizeof(number), "%llu", (unsigned long long)p->number);
	tsdl_fail(p, "expected '%s', found %s%.60s" IN_CTF("C.2"), sign,
		  p->token == TOKEN_END ? "the end" : "",
		  p->token == TOKEN_SIGN     ? p->sign
		  : p->token == TOKEN_NUMBER ? number
		  : p->token == TOKEN_END    ? ""
					     : p->text);
}

const char *tsdl_path(struct tsdl_parser *p)
{
	char path[1024] = "";
	size_t n = 0;

	do {
		if (p->token != TOKEN_NAME || n + strlen(p->text) + 2 > sizeof(path)) {
			tsdl_fail(p, "expected the name of a field" IN_CTF("C.1.3"));
			return NULL;
		}
		n += (size_t)snprintf(path + n, sizeof(path) - n, "%s%s", n ? "." : "", p->text);
		tsdl_next(p);
	} while (tsdl_take(p, "."));
	return tsdl_copy(p, path);
}

int64_t tsdl_integer(struct tsdl_parser *p)
{
	bool minus = tsdl_take(p, "-");
	uint64_t v = p->number;

	if (!minus)
		tsdl_take(p, "+");
	v = p->number;
	if (p->token != TOKEN_NUMBER)
		tsdl_fail(p, "expected a number" IN_CTF("C.1.5"));
	tsdl_next(p);
	return (int64_t)(minus ? 0 - v : v);
}
