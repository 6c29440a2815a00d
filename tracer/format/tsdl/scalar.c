/* SPDX-License-Identifier: GPL-2.0-or-later */
/* integer, floating_point, string */
#include "tracer/format/tsdl/tsdl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_power_of_two(int64_t n)
{
	return n > 0 && n <= 1 << 20 && !(n & (n - 1));
}

uint32_t tsdl_align(struct tsdl_parser *p)
{
	int64_t n = tsdl_integer(p);

	if (!is_power_of_two(n))
		tsdl_fail(p, "an alignment must be a power of two" IN_CTF("4.1.2"));
	return p->failed ? 1 : (uint32_t)n;
}

static void read_size(struct tsdl_parser *p, struct tsdl_type *t)
{
	int64_t n = tsdl_integer(p);

	if (n < 1)
		tsdl_fail(p, "an integer must have 1 bit or more" IN_CTF("4.1.5"));
	if (n > 64)
		tsdl_fail(p, "an integer has more than 64 bits" OWN_LIMIT);
	t->size = (uint8_t)n;
}

static void read_signed(struct tsdl_parser *p, struct tsdl_type *t)
{
	if (p->token == TOKEN_NUMBER)
		t->is_signed = tsdl_integer(p) != 0;
	else if (tsdl_take_name(p, "true") || tsdl_take_name(p, "TRUE"))
		t->is_signed = true;
	else if (!tsdl_take_name(p, "false") && !tsdl_take_name(p, "FALSE"))
		tsdl_fail(p, "expected true or false" IN_CTF("7.1"));
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
			tsdl_fail(p, "a base must be 2, 8, 10 or 16" IN_CTF("4.1.5"));
		t->base = (uint8_t)n;
		return;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (tsdl_is_name(p, names[i].name)) {
			t->base = names[i].base;
			tsdl_next(p);
			return;
		}
	tsdl_fail(p, "expected a base" IN_CTF("4.1.5"));
}

static void read_order(struct tsdl_parser *p, struct tsdl_type *t)
{
	if (tsdl_take_name(p, "le"))
		t->order = TSDL_LE;
	else if (tsdl_take_name(p, "be") || tsdl_take_name(p, "network"))
		t->order = TSDL_BE;
	else if (!tsdl_take_name(p, "native"))
		tsdl_fail(p, "expected le, be, network or native" IN_CTF("4.1.3"));
}

static void read_encoding(struct tsdl_parser *p, struct tsdl_type *t)
{
	t->text = tsdl_is_name(p, "UTF8") || tsdl_is_name(p, "utf8") || tsdl_is_name(p, "ASCII") ||
		  tsdl_is_name(p, "ascii") || tsdl_is_name(p, "utf") || tsdl_is_name(p, "UTF");
	if (p->token != TOKEN_NAME)
		tsdl_fail(p, "expected an encoding" IN_CTF("4.2.5"));
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
		tsdl_fail(p, "expected clock.NAME.value" IN_CTF("8"));
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

/* exp_dig, and mant_dig, which is all other bits. */
static void read_float_size(struct tsdl_parser *p, struct tsdl_type *t, bool exponent)
{
	int64_t n = tsdl_integer(p);

	if (n < 2 || n > TSDL_MANTISSA_MAX || t->size + n > TSDL_FLOAT_MAX) {
		tsdl_fail(p, "a floating point number must have 4 to 128 bits" IN_CTF("4.1.7"));
		return;
	}
	t->size = (uint8_t)(t->size + n);
	if (exponent)
		t->exponent = (uint8_t)n;
}

/*
 * Interchange formats, and the extended numbers of the x87, whose 64 bits of mant_dig have their
 * leading 1; sizeof() counts the bytes after them, too: exp_dig = 16, 32 or 64.
 */
static bool is_float(const struct tsdl_type *t)
{
	unsigned int mantissa = t->size - t->exponent;

	return t->exponent >= 2 && mantissa >= 2 &&
	       (t->exponent <= 15 || (mantissa == 64 && (t->exponent == 16 || t->exponent == 32 ||
							 t->exponent == 64)));
}

static void check_float(struct tsdl_parser *p, struct tsdl_type *t, bool aligned)
{
	if (!aligned)
		t->align = t->size % 8 ? 1 : 8;
	if (!is_float(t))
		tsdl_fail(p, "exp_dig must be 2 to 15, or 16, 32 or 64 with mant_dig 64"
			  IN_CTF("4.1.7"));
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
	else if (t->kind == TSDL_FLOAT && tsdl_take_name(p, "exp_dig"))
		tsdl_expect(p, "="), read_float_size(p, t, true);
	else if (t->kind == TSDL_FLOAT && tsdl_take_name(p, "mant_dig"))
		tsdl_expect(p, "="), read_float_size(p, t, false);
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
		tsdl_fail(p, "expected the size of the integer" IN_CTF("4.1.5"));
	if (kind == TSDL_INT && !aligned)
		t->align = t->size % 8 ? 1 : 8;
	if (kind == TSDL_FLOAT)
		check_float(p, t, aligned);
	return p->failed ? NULL : t;
}

/* ---- types that need no definition ---- */

/* "uint27_t": its number of bits; 0: the name is not of this form. */
static unsigned int bits_of_name(const char *name)
{
	char *end;
	unsigned long n;

	if (*name < '1' || *name > '9')
		return 0;
	n = strtoul(name, &end, 10);
	return n <= 64 && !strcmp(end, "_t") ? (unsigned int)n : 0;
}

static const struct tsdl_type *make_scalar(struct tsdl_parser *p, enum tsdl_kind kind,
					   unsigned int bits, bool is_signed)
{
	struct tsdl_type *t = tsdl_new_type(p, kind);

	if (!t)
		return NULL;
	t->size = (uint8_t)bits;
	t->align = bits % 8 ? 1 : 8;
	t->is_signed = is_signed;
	t->exponent = bits == 32 ? 8 : 11;
	return t;
}

/*
 * The proposal uses uintN_t and the types of C in its examples. They are byte-packed (section
 * 4.1.2). `long` has the bits of a word.
 */
const struct tsdl_type *tsdl_builtin(struct tsdl_parser *p, const char *name)
{
	static const struct { const char *name; uint8_t kind, bits; bool is_signed; } types[] = {
		{ "char", TSDL_INT, 8, true }, { "unsigned char", TSDL_INT, 8, false },
		{ "short", TSDL_INT, 16, true }, { "unsigned short", TSDL_INT, 16, false },
		{ "int", TSDL_INT, 32, true }, { "unsigned int", TSDL_INT, 32, false },
		{ "unsigned", TSDL_INT, 32, false }, { "uint", TSDL_INT, 32, false },
		{ "long", TSDL_INT, 0, true }, { "unsigned long", TSDL_INT, 0, false },
		{ "long long", TSDL_INT, 64, true }, { "unsigned long long", TSDL_INT, 64, false },
		{ "float", TSDL_FLOAT, 32, false }, { "double", TSDL_FLOAT, 64, false },
	};
	bool is_signed = !strncmp(name, "int", 3);
	unsigned int bits = is_signed || !strncmp(name, "uint", 4)
				    ? bits_of_name(name + (is_signed ? 3 : 4))
				    : 0;

	if (bits)
		return make_scalar(p, TSDL_INT, bits, is_signed);
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(types[i].name, name))
			return make_scalar(p, types[i].kind,
					   types[i].bits ? types[i].bits : p->t->word_size,
					   types[i].is_signed);
	return NULL;
}
