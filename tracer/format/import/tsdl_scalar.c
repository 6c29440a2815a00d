/* SPDX-License-Identifier: GPL-2.0-or-later */
/* integer, floating_point, string */
#include "tracer/format/import/tsdl.h"

#include <stdio.h>
#include <string.h>

static bool is_power_of_two(int64_t n)
{
	return n > 0 && n <= 1 << 20 && !(n & (n - 1));
}

uint32_t tsdl_align(struct tsdl_parser *p)
{
	int64_t n = tsdl_integer(p);

	if (!is_power_of_two(n))
		tsdl_fail(p, "an alignment must be a power of two");
	return p->failed ? 1 : (uint32_t)n;
}

static void read_size(struct tsdl_parser *p, struct tsdl_type *t)
{
	int64_t n = tsdl_integer(p);

	if (n < 1 || n > 64)
		tsdl_fail(p, "an integer must have 1 to 64 bits");
	t->size = (uint8_t)n;
}

static void read_signed(struct tsdl_parser *p, struct tsdl_type *t)
{
	if (p->token == TOKEN_NUMBER)
		t->is_signed = tsdl_integer(p) != 0;
	else if (tsdl_take_name(p, "true") || tsdl_take_name(p, "TRUE"))
		t->is_signed = true;
	else if (!tsdl_take_name(p, "false") && !tsdl_take_name(p, "FALSE"))
		tsdl_fail(p, "expected true or false");
}

static void read_base(struct tsdl_parser *p, struct tsdl_type *t)
{
	static const struct { const char *name; uint8_t base; } names[] = {
		{ "decimal", 10 }, { "dec", 10 }, { "d", 10 }, { "i", 10 }, { "u", 10 },
		{ "hexadecimal", 16 }, { "hex", 16 }, { "x", 16 }, { "X", 16 }, { "p", 16 },
		{ "octal", 8 }, { "oct", 8 }, { "o", 8 }, { "binary", 2 }, { "b", 2 },
	};
	int64_t n;

	if (p->token == TOKEN_NUMBER) {
		n = tsdl_integer(p);
		if (n != 2 && n != 8 && n != 10 && n != 16)
			tsdl_fail(p, "a base must be 2, 8, 10 or 16");
		t->base = (uint8_t)n;
		return;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (tsdl_is_name(p, names[i].name)) {
			t->base = names[i].base;
			tsdl_next(p);
			return;
		}
	tsdl_fail(p, "expected a base");
}

static void read_order(struct tsdl_parser *p, struct tsdl_type *t)
{
	if (tsdl_take_name(p, "le"))
		t->order = TSDL_LE;
	else if (tsdl_take_name(p, "be") || tsdl_take_name(p, "network"))
		t->order = TSDL_BE;
	else if (!tsdl_take_name(p, "native"))
		tsdl_fail(p, "expected le, be, network or native");
}

static void read_encoding(struct tsdl_parser *p, struct tsdl_type *t)
{
	t->text = tsdl_is_name(p, "UTF8") || tsdl_is_name(p, "utf8") || tsdl_is_name(p, "ASCII") ||
		  tsdl_is_name(p, "ascii") || tsdl_is_name(p, "utf") || tsdl_is_name(p, "UTF");
	if (p->token != TOKEN_NAME)
		tsdl_fail(p, "expected an encoding");
	tsdl_next(p);
	/* UTF-8 is three tokens. */
	if (tsdl_take(p, "-"))
		tsdl_integer(p);
}

/* `clock.NAME.value` */
static void read_map(struct tsdl_parser *p, struct tsdl_type *t)
{
	const char *path = tsdl_path(p), *end = path ? strrchr(path, '.') : NULL;
	char name[256];

	if (p->failed)
		return;
	if (strncmp(path, "clock.", 6) || !end || strcmp(end, ".value") || end < path + 6) {
		tsdl_fail(p, "expected clock.NAME.value");
		return;
	}
	snprintf(name, sizeof(name), "%.*s", (int)(end - path - 6), path + 6);
	t->clock = tsdl_copy(p, name);
}

/* What an attribute that does not change the layout has as its value. */
static void skip_value(struct tsdl_parser *p)
{
	while (!p->failed && p->token != TOKEN_END && !tsdl_is(p, ";") && !tsdl_is(p, "}"))
		tsdl_next(p);
}

static void read_float_size(struct tsdl_parser *p, struct tsdl_type *t)
{
	int64_t n = tsdl_integer(p);

	if (n < 0 || n > 64)
		tsdl_fail(p, "a floating point number must have 32 or 64 bits");
	else
		t->size = (uint8_t)(t->size + n);
}

static void read_attribute(struct tsdl_parser *p, struct tsdl_type *t, bool *aligned)
{
	if (tsdl_take_name(p, "size"))
		tsdl_expect(p, "="), read_size(p, t);
	else if (tsdl_take_name(p, "align"))
		tsdl_expect(p, "="), t->align = tsdl_align(p), *aligned = true;
	else if (tsdl_take_name(p, "signed"))
		tsdl_expect(p, "="), read_signed(p, t);
	else if (tsdl_take_name(p, "base"))
		tsdl_expect(p, "="), read_base(p, t);
	else if (tsdl_take_name(p, "byte_order"))
		tsdl_expect(p, "="), read_order(p, t);
	else if (tsdl_take_name(p, "encoding"))
		tsdl_expect(p, "="), read_encoding(p, t);
	else if (tsdl_take_name(p, "map"))
		tsdl_expect(p, "="), read_map(p, t);
	else if (t->kind == TSDL_FLOAT &&
		 (tsdl_take_name(p, "exp_dig") || tsdl_take_name(p, "mant_dig")))
		tsdl_expect(p, "="), read_float_size(p, t);
	else
		skip_value(p);
	tsdl_expect(p, ";");
}

const struct tsdl_type *tsdl_scalar(struct tsdl_parser *p, enum tsdl_kind kind)
{
	struct tsdl_type *t = tsdl_new_type(p, kind);
	bool aligned = false;

	if (kind == TSDL_STRING && t) {
		t->align = 8;
		t->text = true;
	}
	if (kind == TSDL_STRING && !tsdl_is(p, "{"))
		return t;
	tsdl_expect(p, "{");
	while (!p->failed && !tsdl_is(p, "}"))
		read_attribute(p, t, &aligned);
	tsdl_expect(p, "}");
	if (p->failed)
		return NULL;
	if (kind == TSDL_INT && !t->size)
		tsdl_fail(p, "expected the size of the integer");
	if (kind == TSDL_INT && !aligned)
		t->align = t->size % 8 ? 1 : 8;
	if (kind == TSDL_FLOAT && !aligned)
		t->align = 8;
	if (kind == TSDL_FLOAT && t->size != 32 && t->size != 64)
		tsdl_fail(p, "a floating point number must have 32 or 64 bits");
	return t;
}
