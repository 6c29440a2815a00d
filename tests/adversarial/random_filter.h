/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random events and random filters, from one seed. */
#ifndef TESTS_ADVERSARIAL_RANDOM_FILTER_H
#define TESTS_ADVERSARIAL_RANDOM_FILTER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/filters.h"

static uint64_t seed;

static uint32_t below(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % n);
}

static uint64_t bits(void)
{
	uint64_t v =
		(uint64_t)below(1u << 31) << 33 ^ (uint64_t)below(1u << 31) << 11 ^ below(1u << 31);

	return below(3) ? v >> below(64) : below(2) ? ~(v >> below(64)) : below(5) - (uint64_t)2;
}

/* ---- events ---- */

static void random_text(char *to, uint32_t max)
{
	uint32_t n = below(max), i;

	for (i = 0; i < n; i++)
		to[i] = "aaab*/\\x"[below(8)];
	to[n] = '\0';
}

static void random_field(struct sample *s, const char *name, unsigned int nowrite)
{
	static const int sizes[] = { 1, 2, 4, 8 };
	unsigned int flags = nowrite | (below(2) ? TRAIL_FIELD_SIGNED : 0) |
			     (below(4) ? 0 : TRAIL_FIELD_BIG_ENDIAN);
	int size = sizes[below(4)], length = sizes[below(4)];
	uint64_t v[6];
	uint32_t i, n = below(6);
	char text[30];

	for (i = 0; i < n; i++)
		v[i] = bits();
	random_text(text, sizeof(text));
	switch (below(7)) {
	case 0:
		sample_float(s, name, below(2) ? 8 : 4, flags,
			     below(2) ? (double)below(20) / 4 : (double)(int64_t)bits());
		break;
	case 1:
		sample_string(s, name, flags, text);
		break;
	case 2:
		sample_elements(s, name, size, flags, below(2) ? length : 0, v, n);
		break;
	case 3:
		sample_text(s, name, below(2) ? length : 0, text,
			    below(2) ? (uint32_t)strlen(text) : below(30));
		break;
	default:
		sample_int(s, name, size, flags, bits());
	}
}

static void random_event(struct sample *s)
{
	uint32_t n = below(10), written = n - (n ? below(n) : 0), i;
	char name[4];

	*s = (struct sample){ 0 };
	md_buf_putc(&s->strings, '\0');
	md_buf_room(&s->payload, 1);
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		random_field(s, name, i < written ? 0 : TRAIL_FIELD_NOWRITE);
	}
}

/* ---- expressions ---- */

static void random_value(struct md_buf *b)
{
	static const char *const contexts[] = {
		"$ctx.vpid",   "$ctx.vtid",    "$ctx.procname",
		"$ctx.vuid",   "$ctx.cpu_id",  "$ctx.perf:thread:cpu-cycles",
		"$app.a:int",  "$app.a:float", "$app.a:text",
		"$app.a:none", "$ctx.vpid.x",  "none",
		"none[1]",     "f1.x[2].y",
	};
	char text[16];

	switch (below(12)) {
	case 0: md_buf_printf(b, "%lld", (long long)bits()); break;
	case 1:
		md_buf_printf(b, "0x%llx%s", (unsigned long long)bits(), below(4) ? "" : "ul");
		break;
	case 2: md_buf_printf(b, "%u", below(8)); break;
	case 3: md_buf_printf(b, "%g%s", (double)below(40) / 4, below(2) ? ".0" : ""); break;
	case 4:
		random_text(text, sizeof(text));
		for (char *p = text; *p; p++)
			if (*p == '\\')
				*p = 'b';
		md_buf_printf(b, "\"%s\"", text);
		break;
	case 5: md_buf_puts(b, contexts[below(sizeof(contexts) / sizeof(contexts[0]))]); break;
	case 6:
	case 7: md_buf_printf(b, "f%u[%u]", below(10), below(7)); break;
	default: md_buf_printf(b, "f%u", below(10));
	}
}

static void random_expression(struct md_buf *b, uint32_t depth)
{
	static const char *const all[] = { "==", "!=", "<", "<=", ">", ">=", "&&", "||",
					   "&&", "||", "&", "|",  "^", "<<", ">>", "==" };

	if (!depth || below(5) == 0) {
		random_value(b);
		return;
	}
	switch (below(8)) {
	case 0:
		md_buf_putc(b, "!~-+"[below(4)]);
		random_expression(b, depth - 1);
		break;
	case 1:
	case 2:
		md_buf_putc(b, '(');
		random_expression(b, depth - 1);
		md_buf_putc(b, ')');
		break;
	default:
		random_expression(b, depth - 1);
		md_buf_printf(b, " %s ", all[below(sizeof(all) / sizeof(all[0]))]);
		random_expression(b, depth - 1);
	}
}

/* A field of the event that is a string, or a number or has numbers. */
static bool known_field(struct md_buf *b, const struct sample *s, bool string)
{
	uint32_t k, at = below(s->count + 1);

	for (k = 0; k < s->count; k++) {
		const struct trail_reg_field *f = &s->fields[(at + k) % s->count];
		bool text = f->flags & TRAIL_FIELD_TEXT,
		     many = f->kind == TRAIL_KIND_ARRAY || f->kind == TRAIL_KIND_SEQUENCE;

		if (string != (f->kind == TRAIL_KIND_STRING || text))
			continue;
		md_buf_puts(b, s->strings.data + f->name);
		if (many && !text)
			md_buf_printf(b, "[%u]",
				      below(f->kind == TRAIL_KIND_ARRAY ? f->count + 1 : 5));
		return true;
	}
	return false;
}

static void sensible_number(struct md_buf *b, const struct sample *s, uint32_t depth)
{
	static const char *const ops[] = { "&", "|", "^", ">>", "<<" };

	if (depth && below(3) == 0) {
		md_buf_puts(b, below(2) ? "(" : "~(");
		sensible_number(b, s, depth - 1);
		md_buf_printf(b, " %s ", ops[below(5)]);
		sensible_number(b, s, depth - 1);
		md_buf_putc(b, ')');
	} else if (below(3) == 0) {
		md_buf_printf(b, below(2) ? "%lld" : "%llu", (long long)bits());
	} else if (below(8) == 0 || !known_field(b, s, false)) {
		md_buf_puts(b, below(2) ? "$ctx.vpid" : "$app.a:int");
	}
}

/* With few clashes. */
static void sensible(struct md_buf *b, const struct sample *s, uint32_t depth)
{
	static const char *const ops[] = { "==", "!=", "<", "<=", ">", ">=" };
	char text[16];

	if (depth && below(3)) {
		if (below(5) == 0)
			md_buf_putc(b, '!');
		md_buf_putc(b, '(');
		sensible(b, s, depth - 1);
		md_buf_puts(b, below(2) ? " && " : " || ");
		sensible(b, s, depth - 1);
		md_buf_putc(b, ')');
	} else if (below(3)) {
		sensible_number(b, s, 2);
		md_buf_printf(b, " %s ", ops[below(6)]);
		sensible_number(b, s, 2);
	} else {
		random_text(text, sizeof(text));
		for (char *p = text; *p; p++)
			*p = *p == '\\' ? '*' : *p;
		if (!known_field(b, s, true))
			md_buf_puts(b, "$ctx.procname");
		md_buf_printf(b, " %s \"%s\"", ops[below(2)], text);
	}
}

/* A byte here and there. */
static void mutate(struct md_buf *b)
{
	uint32_t n = 1 + below(4);

	/* As long as can be, or a little longer. */
	if (below(400) == 0)
		while (b->len && b->len <= FILTER_TEXT_MAX / 2) {
			md_buf_puts(b, below(3) ? "||" : "&&");
			md_buf_room(b, b->len);
			md_buf_put(b, b->data, b->len - 2);
		}

	while (n-- && b->len) {
		size_t at = below((uint32_t)b->len);

		switch (below(4)) {
		case 0: b->data[at] = (char)below(256); break;
		case 1: b->data[at] = "()[]\"\\.$&|=<>!~-+*09aex:{} \n\t"[below(30)]; break;
		case 2: memmove(b->data + at, b->data + at + 1, b->len - at - 1); b->len--; break;
		default: b->data[at] = b->data[below((uint32_t)b->len)];
		}
	}
}

#endif
