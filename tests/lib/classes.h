/* SPDX-License-Identifier: MIT */
/*
 * For tests, the bench and the fuzzer: short ways to spell types, random event classes, random
 * bytes that are values of them, and event headers.
 */
#ifndef TESTS_UNIT_CLASSES_H
#define TESTS_UNIT_CLASSES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/buf.h"
#include "metadata/model.h"
#include "tracer/abi/ring_write.h"

static inline uint64_t rnd(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static inline uint64_t below(uint64_t *state, uint64_t n)
{
	return rnd(state) % n;
}

static inline struct md_type t_int(int size, bool is_signed, int base, bool big_endian)
{
	return (struct md_type){ .kind = MD_INT,
				 .size = (uint8_t)size,
				 .is_signed = is_signed,
				 .base = (uint8_t)base,
				 .big_endian = big_endian };
}

static inline struct md_type t_s32(void)
{
	return t_int(4, true, 10, false);
}

static inline struct md_type t_char(void)
{
	struct md_type t = t_int(1, true, 10, false);

	t.encoding = MD_ENCODING_UTF8;
	return t;
}

static inline struct md_type t_float(int size, bool big_endian)
{
	return (struct md_type){ .kind = MD_FLOAT,
				 .size = (uint8_t)size,
				 .big_endian = big_endian };
}

static inline struct md_type t_string(void)
{
	return (struct md_type){ .kind = MD_STRING };
}

static inline struct md_type *t_copy(struct md_type t)
{
	struct md_type *copy = malloc(sizeof(t));

	*copy = t;
	return copy;
}

static inline struct md_type t_array(struct md_type element, uint32_t count)
{
	return (struct md_type){ .kind = MD_ARRAY, .count = count, .element = t_copy(element) };
}

static inline struct md_type t_sequence(struct md_type element, int length_size)
{
	return (struct md_type){ .kind = MD_SEQUENCE,
				 .length_size = (uint8_t)length_size,
				 .element = t_copy(element) };
}

static inline struct md_type t_struct(uint32_t count)
{
	return (struct md_type){ .kind = MD_STRUCT, .count = count,
				 .members = calloc(count + 1, sizeof(struct md_field)) };
}

static inline struct md_type t_variant(uint32_t count)
{
	struct md_type t = t_struct(count);

	t.kind = MD_VARIANT;
	return t;
}

/* A value that may be missing, as imports have them */
static inline struct md_type t_optional(struct md_type value)
{
	struct md_type t = t_variant(2);

	t.quiet = t.optional = true;
	t.members[0] = (struct md_field){ .name = strdup("missing"),
					  .type = { .kind = MD_STRUCT } };
	t.members[1] = (struct md_field){ .name = strdup("value"), .type = value };
	return t;
}

static inline struct md_type t_enum(struct md_type container, uint32_t count)
{
	container.kind = MD_ENUM;
	container.count = count;
	container.mappings = calloc(count + 1, sizeof(struct md_mapping));
	return container;
}

static inline void set_mapping(struct md_type *t, uint32_t i, const char *name, int64_t begin,
			       int64_t end)
{
	t->mappings[i] = (struct md_mapping){ .name = strdup(name), .begin = begin, .end = end };
}

static inline void set_field(struct md_field *f, const char *name, struct md_type type)
{
	f->name = strdup(name);
	f->type = type;
}

static inline int64_t limit_int(int64_t v, const struct md_type *t)
{
	int unused = 64 - 8 * t->size;

	return t->is_signed ? (int64_t)((uint64_t)v << unused) >> unused
			    : (int64_t)((uint64_t)v << unused >> unused);
}

static inline struct md_type random_int(uint64_t *s)
{
	static const int sizes[] = { 1, 2, 4, 8 }, bases[] = { 10, 10, 16, 8, 2, 0 };

	return t_int(sizes[below(s, 4)], below(s, 2), bases[below(s, 6)], below(s, 3) == 0);
}

static inline struct md_type random_enum(uint64_t *s)
{
	static const char *const names[] = {
		"RED",           "GREEN", "a \"b\" c\\", "",         "line\n1\001",
		"\xc3\xa9 \xff", "?'",    "_under",      "\\x41 %s",
	};
	uint32_t n = (uint32_t)below(s, 6), i;
	struct md_type t = t_enum(random_int(s), n);

	for (i = 0; i < n; i++) {
		int64_t a = limit_int((int64_t)(rnd(s) >> below(s, 64)), &t);
		int64_t b = below(s, 2) ? a : limit_int((int64_t)(rnd(s) >> below(s, 64)), &t);
		bool ordered = t.is_signed ? a <= b : (uint64_t)a <= (uint64_t)b;

		set_mapping(&t, i, names[below(s, 9)], ordered ? a : b, ordered ? b : a);
	}
	return t;
}

/* Whether random variants are values that may be missing: what trailfs writes has none of these. */
static bool random_optional;

static inline struct md_type random_type(uint64_t *s, int depth);

/* Some with bytes that are not for identifiers; the number keeps them different. */
static inline void random_fields(uint64_t *s, struct md_field *f, uint32_t count, int depth)
{
	static const char *const names[] = { "a",   "value", "x.y",         "_u", "Bool",
					     "int", "1st",   "caf\xc3\xa9", "" };
	char name[32];
	uint32_t i;

	for (i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%s%u", names[below(s, 9)], i);
		set_field(&f[i], i ? name : names[below(s, 9)], random_type(s, depth));
	}
}

/* An element must have a size and be no sequence and no variant. */
static inline struct md_type random_element(uint64_t *s, int depth)
{
	struct md_type t = random_type(s, depth);

	if ((t.kind == MD_STRUCT && !t.count) || t.kind == MD_SEQUENCE || t.kind == MD_ARRAY ||
	    t.kind == MD_VARIANT) {
		md_type_deinit(&t);
		t = below(s, 2) ? t_array(t_char(), 5) : t_int(1, false, 16, false);
	} else if (t.kind == MD_STRUCT) {
		md_field_deinit(&t.members[0]);
		set_field(&t.members[0], "first", t_int(2, false, 10, true));
	}
	return t;
}

static inline struct md_type random_variant(uint64_t *s, int depth)
{
	struct md_type t = t_variant((uint32_t)(1 + below(s, 4)));
	uint32_t i;

	random_fields(s, t.members, t.count, depth + 1);
	/* An option must be no sequence and no variant itself. */
	for (i = 0; i < t.count; i++) {
		struct md_type *option = &t.members[i].type;

		if (option->kind == MD_SEQUENCE || option->kind == MD_VARIANT) {
			md_type_deinit(option);
			*option = below(s, 2) ? random_int(s) : t_struct(0);
		}
	}
	if (random_optional && below(s, 2)) {
		struct md_type value = t.members[0].type;

		t.members[0].type = (struct md_type){ .kind = MD_STRUCT };
		md_type_deinit(&t);
		t = t_optional(value);
	}
	return t;
}

static inline struct md_type random_type(uint64_t *s, int depth)
{
	static const int sizes[] = { 1, 2, 4, 8 };
	struct md_type t;

	switch (below(s, depth > 3 ? 6 : 11)) {
	case 0: case 1: case 2:
		return random_int(s);
	case 3:
		return t_float(below(s, 2) ? 4 : 8, below(s, 3) == 0);
	case 4:
		return t_string();
	case 5:
		return random_enum(s);
	case 6:
		return t_array(below(s, 3) ? random_element(s, depth + 1) : t_char(),
			       (uint32_t)(1 + below(s, 5)));
	case 7: case 8:
		return t_sequence(below(s, 3) ? random_element(s, depth + 1) : t_char(),
				  sizes[below(s, 4)]);
	case 9:
		return random_variant(s, depth);
	default:
		t = t_struct((uint32_t)below(s, 4));
		random_fields(s, t.members, t.count, depth + 1);
		return t;
	}
}

static inline void put_int(uint64_t v, int size, bool big_endian, struct md_buf *b)
{
	int i;

	big_endian |= MD_HOST_IS_BIG;
	for (i = 0; i < size; i++)
		md_buf_putc(b, (char)(v >> 8 * (big_endian ? size - 1 - i : i)));
}

static inline uint64_t random_float(uint64_t *s, int size)
{
	static const double tricky[] = {
		0,       -0.0,     1,        0.1,           -0.5,     100000, 999999.5,
		1000000, 123456.5, 0.0001,   0.00009999995, 1e22,     1e23,   3.14159265,
		1e300,   5e-324,   99999.95, 2.5e-7,        1.0 / 0.0
	};
	double d = below(s, 3) ? tricky[below(s, 19)]
			       : (double)(int64_t)rnd(s) / (double)(1 + (rnd(s) >> below(s, 64)));
	float f;
	uint32_t low;
	uint64_t bits = rnd(s);

#ifdef __riscv
	/* A conversion to double makes it positive there, and babeltrace2 converts it. */
	if (size == 4 && (bits & 0x7fffffff) > 0x7f800000)
		bits &= 0x7fffffff;
#endif
	if (below(s, 4) == 0)
		return bits;
	if (size == 8) {
		memcpy(&bits, &d, 8);
		return bits;
	}
	f = (float)d;
	memcpy(&low, &f, 4);
	return low;
}

static inline void random_bytes(uint64_t *s, uint64_t n, struct md_buf *b)
{
	bool plain = below(s, 2);

	while (n--)
		md_buf_putc(b, (char)(plain ? 'a' + below(s, 26) : 1 + below(s, 255)));
}

static inline bool is_text(const struct md_type *t)
{
	return t->element && t->element->kind == MD_INT && t->element->encoding == MD_ENCODING_UTF8;
}

static inline void random_values(uint64_t *s, const struct md_field *f, uint32_t count,
				 struct md_buf *b);

/*
 * Strings and text never come out empty: there babeltrace2 2.0.4 shows what its recycled string
 * held before (bt_field_string_clear leaves the bytes).
 */
static inline void random_value(uint64_t *s, const struct md_type *t, struct md_buf *b)
{
	uint64_t n, i;

	switch (t->kind) {
	case MD_STRING:
		random_bytes(s, 1 + (below(s, 4) ? below(s, 40) : below(s, 4)), b);
		md_buf_putc(b, 0);
		return;
	case MD_FLOAT:
		put_int(random_float(s, t->size), t->size, t->big_endian, b);
		return;
	case MD_ENUM:
		if (t->count && below(s, 2)) {
			i = below(s, t->count);
			put_int((uint64_t)(below(s, 2) ? t->mappings[i].begin : t->mappings[i].end),
				t->size, t->big_endian, b);
			return;
		}
		/* fall through */
	case MD_INT:
		n = below(s, 4) ? rnd(s) >> below(s, 64) : (uint64_t)-below(s, 3);
		put_int(n, t->size, t->big_endian, b);
		return;
	case MD_ARRAY:
	case MD_SEQUENCE:
		n = t->kind == MD_ARRAY ? t->count : below(s, 3) ? below(s, 4) : below(s, 30);
		n += is_text(t) && !n;
		if (t->kind == MD_SEQUENCE)
			put_int(n, t->length_size, false, b);
		for (i = 0; i < n; i++)
			random_value(s, t->element, b);
		if (is_text(t) && !b->data[b->len - n])
			b->data[b->len - n] = '!';
		return;
	case MD_STRUCT:
		random_values(s, t->members, t->count, b);
		return;
	case MD_VARIANT:
		n = below(s, t->count);
		put_int(n, 1, false, b);
		random_value(s, &t->members[n].type, b);
		return;
	}
}

static inline void random_values(uint64_t *s, const struct md_field *f, uint32_t count,
				 struct md_buf *b)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		random_value(s, &f[i].type, b);
}

static inline struct md_event *random_event(uint64_t *s, uint32_t id)
{
	uint32_t n = (uint32_t)below(s, 7);
	struct md_event *e;
	char name[32];

	snprintf(name, sizeof(name), "prov:ev%u%s", id, below(s, 8) ? "" : " \"q\\\n\xff");
	e = md_event_create(name, (int)below(s, 16) - 1, n);
	e->id = id;
	random_fields(s, e->fields, n, 0);
	return e;
}

/* The header of an event at ts, extended when it must be (or `extended` asks for it). */
static inline void put_header(const struct md_stream *stream, uint32_t id, uint64_t last,
			      uint64_t ts, bool extended, struct md_buf *b)
{
	bool compact = stream->header == MD_HEADER_COMPACT;
	unsigned int bits = compact ? 27 : 32;
	uint8_t header[TRAIL_HEADER_EXTENDED];

	extended |= (!compact && id > 65534) || ts < last || ts - last >= UINT64_C(1) << bits;
	if (compact) {
		md_buf_put(b, header, ring_put_header(header, id, ts, extended));
	} else if (extended) {
		put_int(65535, 2, false, b);
		put_int(id, 4, false, b);
		put_int(ts, 8, false, b);
	} else {
		put_int(id, 2, false, b);
		put_int(ts, 4, false, b);
	}
}

#endif
