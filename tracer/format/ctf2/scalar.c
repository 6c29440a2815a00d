/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "tracer/format/ctf2/ctf2.h"

#define BITS_MAX 64u            /* of a value that is no floating point number */

/* ---- bits ---- */

static const char *const byte_orders[] = { "little-endian", "big-endian", NULL };
static const char *const bit_orders[] = { "first-to-last", "last-to-first", NULL };

/* What all of a fixed length have; the bits of a floating point number are checked later. */
static void read_bits(struct tsdl_parser *p, const struct json *v, struct tsdl_type *t)
{
	uint64_t n = ctf2_number(p, v, "length", CTF2_REQUIRED);
	int bytes = ctf2_word(p, v, "byte-order", byte_orders, -1);
	int bits = ctf2_word(p, v, "bit-order", bit_orders, bytes);

	if (!n || (n > BITS_MAX && t->kind != TSDL_FLOAT))
		CTF2_FAIL(p, v, "expected a length of 1 to 64 bits, found %llu" IN_CTF2("5.3.4"),
			  (unsigned long long)n);
	t->size = (uint8_t)n;
	t->order = bytes ? TSDL_BE : TSDL_LE;
	t->reversed = bits != bytes;
	t->align = ctf2_alignment(p, v, "alignment");
}

static void read_bit_array(struct tsdl_parser *p, const struct json *v, struct tsdl_type *t)
{
	ctf2_object(p, v, "length byte-order bit-order alignment ");
	read_bits(p, v, t);
	t->base = 16;
}

static void read_bool(struct tsdl_parser *p, const struct json *v, struct tsdl_type *t)
{
	ctf2_object(p, v, "length byte-order bit-order alignment ");
	t->kind = TSDL_BOOL;
	read_bits(p, v, t);
}

/* IEEE 754 binary16, 32, 64 and 128 */
static void read_float(struct tsdl_parser *p, const struct json *v, struct tsdl_type *t)
{
	static const struct { uint8_t bits, exponent; } formats[] = {
		{ 16, 5 }, { 32, 8 }, { 64, 11 }, { 128, 15 }
	};
	uint64_t n;

	ctf2_object(p, v, "length byte-order bit-order alignment ");
	t->kind = TSDL_FLOAT;
	read_bits(p, v, t);
	n = ctf2_number(p, v, "length", CTF2_REQUIRED);
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (formats[i].bits == n)
			t->exponent = formats[i].exponent;
	if (!t->exponent)
		CTF2_FAIL(p, v, "a floating point number must have 16, 32, 64 or 128 bits, found "
			  "%llu" IN_CTF2("5.3.9"), (unsigned long long)n);
}

/* ---- integers ---- */

static void add_mapping(struct tsdl_parser *p, struct tsdl_type *t, const char *label,
			const struct tsdl_range *r, const struct json *at)
{
	t->mappings = tsdl_grow(p, t->mappings, t->count, sizeof(*t->mappings));
	if (p->failed)
		return;
	if (t->is_signed ? r->large : r->negative)
		CTF2_FAIL(p, at, "a range of '%.60s' has values that the integer cannot have"
			  IN_CTF2("5.3.7"), label);
	if (t->kind == TSDL_FLAGS && (uint64_t)r->end >= t->size)
		CTF2_FAIL(p, at, "the flag '%.60s' is of a bit after the last one"
			  IN_CTF2("5.3.5"), label);
	t->mappings[t->count++] = (struct tsdl_mapping){ label, r->begin, r->end };
}

/* An object whose members are the ranges of each name */
static void read_mappings(struct tsdl_parser *p, const struct json *v, struct tsdl_type *t)
{
	for (v = v->first; v && !p->failed; v = v->next) {
		struct tsdl_ranges r = ctf2_ranges(p, v);
		const char *label = tsdl_copy(p, v->name);

		for (uint32_t i = 0; i < r.count && !p->failed; i++)
			add_mapping(p, t, label, &r.list[i], v);
	}
	t->nodes += t->count / 8;
}

/* The names of roles, and where each may be: section 5.6.1 and 5.8.1; the compiler checks that. */
static const struct { const char *name; enum role role; } roles[] = {
	{ "packet-magic-number", ROLE_MAGIC },
	{ "data-stream-class-id", ROLE_STREAM },
	{ "data-stream-id", ROLE_INSTANCE },
	{ "default-clock-timestamp", ROLE_CLOCK },
	{ "packet-end-default-clock-timestamp", ROLE_END },
	{ "packet-content-length", ROLE_CONTENT },
	{ "packet-total-length", ROLE_PACKET },
	{ "discarded-event-record-counter-snapshot", ROLE_DISCARDED },
	{ "packet-sequence-number", ROLE_SEQUENCE },
	{ "event-record-class-id", ROLE_ID },
	{ "metadata-stream-uuid", ROLE_UUID },
};

static uint32_t role_of(struct tsdl_parser *p, const struct json *v, bool blob)
{
	for (size_t i = 0; v->kind == JSON_STRING && i < sizeof(roles) / sizeof(*roles); i++)
		if (!strcmp(roles[i].name, v->text) && blob == (roles[i].role == ROLE_UUID))
			return 1u << roles[i].role;
	CTF2_FAIL(p, v, "'%.60s' is no role of such a field" IN_CTF2("5.3.3"),
		  v->kind == JSON_STRING ? v->text : "");
	return 0;
}

static void read_roles(struct tsdl_parser *p, const struct json *v, struct tsdl_type *t)
{
	const struct json *list = ctf2_get(p, v, "roles", JSON_ARRAY, false);

	for (v = list ? list->first : NULL; v && !p->failed; v = v->next)
		t->roles |= role_of(p, v, t->kind == TSDL_BLOB);
}

/* Base, mappings and roles */
static void read_integer(struct tsdl_parser *p, const struct json *v, struct tsdl_type *t)
{
	const struct json *mappings = ctf2_get(p, v, "mappings", JSON_OBJECT, false);
	uint64_t base = ctf2_number(p, v, "preferred-display-base", 10);

	if (base != 2 && base != 8 && base != 10 && base != 16)
		CTF2_FAIL(p, v, "the base must be 2, 8, 10 or 16" IN_CTF2("5.3.7"));
	t->base = (uint8_t)base;
	if (mappings && mappings->count) {
		t->kind = TSDL_ENUM;
		read_mappings(p, mappings, t);
	}
	read_roles(p, v, t);
}

#define FIXED "length byte-order bit-order alignment preferred-display-base mappings "
#define VARIABLE "preferred-display-base mappings "

static void read_unsigned(struct tsdl_parser *p, const struct json *v, struct tsdl_type *t)
{
	ctf2_object(p, v, FIXED "roles ");
	read_bits(p, v, t);
	read_integer(p, v, t);
}

static void read_signed(struct tsdl_parser *p, const struct json *v, struct tsdl_type *t)
{
	ctf2_object(p, v, FIXED);
	t->is_signed = true;
	read_bits(p, v, t);
	read_integer(p, v, t);
}

static void read_variable(struct tsdl_parser *p, const struct json *v, struct tsdl_type *t)
{
	t->size = 64;
	t->align = 8;
	t->leb128 = true;
	read_integer(p, v, t);
}

static void read_variable_unsigned(struct tsdl_parser *p, const struct json *v,
				   struct tsdl_type *t)
{
	ctf2_object(p, v, VARIABLE "roles ");
	read_variable(p, v, t);
}

static void read_variable_signed(struct tsdl_parser *p, const struct json *v, struct tsdl_type *t)
{
	ctf2_object(p, v, VARIABLE);
	t->is_signed = true;
	read_variable(p, v, t);
}

static int compare_flags(const void *a, const void *b)
{
	const struct tsdl_mapping *x = a, *y = b;
	int order = strcmp(x->label, y->label);

	return order ? order : (x->begin > y->begin) - (x->begin < y->begin);
}

static void read_bit_map(struct tsdl_parser *p, const struct json *v, struct tsdl_type *t)
{
	const struct json *flags;

	ctf2_object(p, v, "length byte-order bit-order alignment flags ");
	t->kind = TSDL_FLAGS;
	read_bits(p, v, t);
	t->base = 16;
	flags = ctf2_get(p, v, "flags", JSON_OBJECT, true);
	if (flags && !flags->count)
		CTF2_FAIL(p, flags, "expected a flag" IN_CTF2("5.3.5"));
	if (flags)
		read_mappings(p, flags, t);
	/* babeltrace2 shows flags by their names. */
	if (!p->failed && t->count)
		qsort(t->mappings, t->count, sizeof(*t->mappings), compare_flags);
}

/* ---- strings and BLOBs ---- */

static void read_encoding(struct tsdl_parser *p, const struct json *v, struct tsdl_type *t)
{
	static const char *const encodings[] = {
		[TSDL_UTF8] = "utf-8", [TSDL_UTF16LE] = "utf-16le", [TSDL_UTF16BE] = "utf-16be",
		[TSDL_UTF32LE] = "utf-32le", [TSDL_UTF32BE] = "utf-32be", NULL
	};

	t->align = 8;
	t->encoding = (uint8_t)ctf2_word(p, v, "encoding", encodings, TSDL_UTF8);
}

static void read_string(struct tsdl_parser *p, const struct json *v, struct tsdl_type *t)
{
	ctf2_object(p, v, "encoding ");
	t->kind = TSDL_STRING;
	read_encoding(p, v, t);
}

/* A number of bytes, here or in another field */
static void read_length(struct tsdl_parser *p, const struct json *v, bool is_static,
			struct tsdl_type *t)
{
	uint64_t n = is_static ? ctf2_number(p, v, "length", CTF2_REQUIRED) : 0;

	t->align = 8;
	if (!is_static)
		t->at = ctf2_location(p, v, "length-field-location");
	if (n > CTF2_LENGTH_MAX)
		CTF2_FAIL(p, v, "a length is of more than %u bytes" OWN_LIMIT2,
			  CTF2_LENGTH_MAX);
	t->count = (uint32_t)n;
	t->empty = !n;
}

static void read_static_string(struct tsdl_parser *p, const struct json *v, struct tsdl_type *t)
{
	ctf2_object(p, v, "length encoding ");
	t->kind = TSDL_TEXT;
	read_encoding(p, v, t);
	read_length(p, v, true, t);
}

static void read_dynamic_string(struct tsdl_parser *p, const struct json *v, struct tsdl_type *t)
{
	ctf2_object(p, v, "length-field-location encoding ");
	t->kind = TSDL_TEXT;
	read_encoding(p, v, t);
	read_length(p, v, false, t);
}

static void read_static_blob(struct tsdl_parser *p, const struct json *v, struct tsdl_type *t)
{
	ctf2_object(p, v, "length media-type roles ");
	t->kind = TSDL_BLOB;
	ctf2_get(p, v, "media-type", JSON_STRING, false);
	read_length(p, v, true, t);
	read_roles(p, v, t);
	if (t->roles && t->count != 16)
		CTF2_FAIL(p, v, "a metadata-stream-uuid must have 16 bytes" IN_CTF2("5.6.1"));
}

static void read_dynamic_blob(struct tsdl_parser *p, const struct json *v, struct tsdl_type *t)
{
	ctf2_object(p, v, "length-field-location media-type ");
	t->kind = TSDL_BLOB;
	ctf2_get(p, v, "media-type", JSON_STRING, false);
	read_length(p, v, false, t);
}

bool ctf2_scalar(struct tsdl_parser *p, const struct json *v, const char *type,
		 struct tsdl_type *t)
{
	static const struct {
		const char *type;
		void (*read)(struct tsdl_parser *p, const struct json *v, struct tsdl_type *t);
	} classes[] = {
		{ "fixed-length-unsigned-integer", read_unsigned },
		{ "fixed-length-signed-integer", read_signed },
		{ "fixed-length-bit-array", read_bit_array },
		{ "fixed-length-bit-map", read_bit_map },
		{ "fixed-length-boolean", read_bool },
		{ "fixed-length-floating-point-number", read_float },
		{ "variable-length-unsigned-integer", read_variable_unsigned },
		{ "variable-length-signed-integer", read_variable_signed },
		{ "null-terminated-string", read_string },
		{ "static-length-string", read_static_string },
		{ "dynamic-length-string", read_dynamic_string },
		{ "static-length-blob", read_static_blob },
		{ "dynamic-length-blob", read_dynamic_blob },
	};

	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
		if (!strcmp(classes[i].type, type)) {
			classes[i].read(p, v, t);
			return true;
		}
	return false;
}
