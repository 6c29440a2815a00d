/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A plain evaluation of the parsed tree of a filter, for tests. It shares nothing with the compiler
 * and the interpreter: every value is looked up where it is needed, integers are 128 bits wide,
 * patterns are matched by a table.
 */
#ifndef TESTS_LIB_PLAIN_FILTER_H
#define TESTS_LIB_PLAIN_FILTER_H

#include "tests/lib/filters.h"

struct plain {
	enum { PLAIN_INT, PLAIN_FLOAT, PLAIN_STRING } kind;
	bool is_unsigned;
	__int128 i;
	double f;
	const char *s;
	size_t n;
};

struct reference {
	const struct sample *sample;
	bool failed;            /* a value was missing: the filter is false */
};

static inline struct plain plain_eval(struct reference *r, const struct filter_node *n);

static inline struct plain plain_fail(struct reference *r)
{
	r->failed = true;
	return (struct plain){ .kind = PLAIN_INT };
}

static inline struct plain plain_int(__int128 v, bool is_unsigned)
{
	return (struct plain){ .kind = PLAIN_INT, .i = v, .is_unsigned = is_unsigned };
}

static inline uint64_t plain_bits(const uint8_t *p, int size, bool big)
{
	uint64_t v = 0;
	int i;

	big = big || !FILTER_HOST_IS_LITTLE;
	for (i = 0; i < size; i++)
		v = v << 8 | p[big ? i : size - 1 - i];
	return v;
}

static inline struct plain plain_load(const struct trail_reg_field *f, const uint8_t *p)
{
	__int128 v = plain_bits(p, f->size, f->flags & TRAIL_FIELD_BIG_ENDIAN);

	if ((f->flags & TRAIL_FIELD_SIGNED) && v >> (8 * f->size - 1))
		v -= (__int128)1 << 8 * f->size;
	return plain_int(v, !(f->flags & TRAIL_FIELD_SIGNED));
}

static inline struct plain plain_text(const uint8_t *p, size_t n)
{
	return (struct plain){ .kind = PLAIN_STRING,
			       .s = (const char *)p,
			       .n = strnlen((const char *)p, n) };
}

/* Bytes of a field at p; *first: of its first element, *count elements */
static inline size_t plain_size(const struct trail_reg_field *f, const uint8_t *p, size_t *first,
				uint64_t *count)
{
	*first = 0;
	*count = f->count;
	switch (f->kind) {
	case TRAIL_KIND_STRING:
		return strlen((const char *)p) + 1;
	case TRAIL_KIND_SEQUENCE:
		*first = f->length;
		*count = plain_bits(p, f->length, false);
		return *first + *count * f->size;
	case TRAIL_KIND_ARRAY:
		return *count * f->size;
	default:
		return f->size;
	}
}

/* The name as readers see it, for names of ASCII. */
static inline bool plain_is_name(const char *name, const struct filter_node *n)
{
	size_t i;

	for (i = 0; name[i]; i++)
		if (i >= n->name_length || n->text[i] != (name[i] == '-' ? '_' : name[i]))
			return false;
	return i == n->name_length;
}

static inline struct plain plain_field(struct reference *r, const struct filter_node *n)
{
	const uint8_t *p = (const uint8_t *)r->sample->payload.data;
	uint32_t k;

	for (k = 0; k < r->sample->count; k++) {
		const struct trail_reg_field *f = &r->sample->fields[k];
		const char *name = r->sample->strings.data + f->name;
		size_t first, size;
		uint64_t count, bits;
		uint32_t half;
		float single;
		struct plain v = { .kind = PLAIN_FLOAT };

		size = plain_size(f, p, &first, &count);
		if (n->member || !plain_is_name(name, n)) {
			p += size;
			continue;
		}
		if (f->kind == TRAIL_KIND_STRING)
			return plain_text(p, size);
		if (f->kind == TRAIL_KIND_INT)
			return plain_load(f, p);
		if (f->kind != TRAIL_KIND_FLOAT) {
			if (!n->index_count)
				return plain_text(p + first, count);
			return n->index < count ? plain_load(f, p + first + n->index * f->size)
						: plain_fail(r);
		}
		bits = plain_bits(p, f->size, f->flags & TRAIL_FIELD_BIG_ENDIAN);
		half = (uint32_t)bits;
		memcpy(&single, &half, 4);
		memcpy(&v.f, &bits, 8);
		if (f->size == 4)
			v.f = single;
		return v;
	}
	return plain_fail(r);
}

static inline struct plain plain_context(struct reference *r, const struct filter_node *n)
{
	struct filter_value v;

	if (n->member ||
	    !sample_context(NULL, n->context, n->context_name ? n->text + n->context_name : NULL,
			    &v) ||
	    v.type == FILTER_NONE)
		return plain_fail(r);
	if (v.type == FILTER_STRING)
		return (struct plain){ .kind = PLAIN_STRING, .s = v.s, .n = v.len };
	if (v.type == FILTER_FLOAT)
		return (struct plain){ .kind = PLAIN_FLOAT, .f = v.f };
	return v.type == FILTER_SIGNED ? plain_int(v.i, false) : plain_int(v.u, true);
}

static inline bool plain_truth(struct reference *r, struct plain v)
{
	if (v.kind == PLAIN_STRING)
		plain_fail(r);
	return v.kind == PLAIN_FLOAT ? v.f != 0 : v.i != 0;
}

/* fits[k]: the text's first k bytes fit the pattern so far. */
static inline bool plain_glob(const char *p, size_t n, const char *s, size_t len)
{
	bool *fits = calloc(len + 1, 1), result;
	size_t i, k;

	fits[0] = true;
	for (i = 0; i < n; i++) {
		if (!p[i]) {
			for (k = 1; k <= len; k++)
				fits[k] |= fits[k - 1];
			continue;
		}
		for (k = len; k > 0; k--)
			fits[k] = fits[k - 1] && p[i] == s[k - 1];
		fits[0] = false;
	}
	result = fits[len];
	free(fits);
	return result;
}

static inline bool plain_relation(enum filter_operator op, bool less, bool equal, bool greater)
{
	switch (op) {
	case OP_LT: return less;
	case OP_LE: return less || equal;
	case OP_GT: return greater;
	case OP_GE: return greater || equal;
	case OP_EQ: return equal;
	default: return !equal;
	}
}

static inline bool plain_is_bits(const struct filter_node *n)
{
	return (n->kind == NODE_BINARY && n->op < OP_LT) ||
	       (n->kind == NODE_UNARY && n->op == OP_COMPLEMENT);
}

/* An integer for every event; a context of the application may be of another type each time. */
static inline bool plain_is_int(const struct filter_node *n)
{
	while (n->kind == NODE_UNARY && (n->op == OP_MINUS || n->op == OP_PLUS))
		n = n->first;
	return plain_is_bits(n) || n->kind != NODE_CONTEXT || n->context != TRAIL_CONTEXT_APP;
}

/* == and != of the result of a bit operator: of the 64 bits. */
static inline bool plain_by_bits(const struct filter_node *n)
{
	return (n->op == OP_EQ || n->op == OP_NE) &&
	       (plain_is_bits(n->first) || plain_is_bits(n->last)) && plain_is_int(n->first) &&
	       plain_is_int(n->last);
}

static inline struct plain plain_compare(struct reference *r, const struct filter_node *n,
					 struct plain x, struct plain y)
{
	bool holds;

	if (x.kind == PLAIN_STRING || y.kind == PLAIN_STRING) {
		if (x.kind != y.kind || (n->op != OP_EQ && n->op != OP_NE))
			return plain_fail(r);
		holds = n->first->kind == NODE_STRING && memchr(x.s, 0, x.n)
				? plain_glob(x.s, x.n, y.s, y.n)
			: n->last->kind == NODE_STRING ? plain_glob(y.s, y.n, x.s, x.n)
						       : x.n == y.n && !memcmp(x.s, y.s, x.n);
		return plain_int(holds == (n->op == OP_EQ), false);
	}
	if (x.kind == PLAIN_FLOAT || y.kind == PLAIN_FLOAT) {
		double f = x.kind == PLAIN_FLOAT ? x.f : (double)x.i,
		       g = y.kind == PLAIN_FLOAT ? y.f : (double)y.i;

		return plain_int(plain_relation(n->op, f < g, f == g, f > g), false);
	}
	if (plain_by_bits(n))
		return plain_int(((uint64_t)x.i == (uint64_t)y.i) == (n->op == OP_EQ), false);
	return plain_int(plain_relation(n->op, x.i < y.i, x.i == y.i, x.i > y.i), false);
}

static inline struct plain plain_binary(struct reference *r, const struct filter_node *n)
{
	struct plain x = plain_eval(r, n->first), y = plain_eval(r, n->last);
	uint64_t u = (uint64_t)x.i, v = (uint64_t)y.i;
	bool is_unsigned = x.is_unsigned || y.is_unsigned;

	if (r->failed)
		return x;
	if (n->op >= OP_LT)
		return plain_compare(r, n, x, y);
	if (x.kind != PLAIN_INT || y.kind != PLAIN_INT)
		return plain_fail(r);
	if (n->op == OP_LEFT || n->op == OP_RIGHT) {
		if (y.i < 0 || y.i > 63)
			return plain_fail(r);
		is_unsigned = x.is_unsigned;
	}
	u = n->op == OP_LEFT    ? u << v
	    : n->op == OP_RIGHT ? u >> v
	    : n->op == OP_AND   ? (u & v)
	    : n->op == OP_OR    ? (u | v)
				: (u ^ v);
	return is_unsigned ? plain_int(u, true) : plain_int((int64_t)u, false);
}

static inline struct plain plain_unary(struct reference *r, const struct filter_node *n)
{
	struct plain v = plain_eval(r, n->first);

	if (r->failed || n->op == OP_PLUS)
		return v;
	if (n->op == OP_NOT)
		return plain_int(!plain_truth(r, v), false);
	if (v.kind == PLAIN_STRING || (v.kind == PLAIN_FLOAT && n->op == OP_COMPLEMENT))
		return plain_fail(r);
	v.f = -v.f;
	if (n->op == OP_MINUS)
		return v.kind == PLAIN_FLOAT ? v : plain_int((int64_t)(0 - (uint64_t)v.i), false);
	return v.is_unsigned ? plain_int(~(uint64_t)v.i, true) : plain_int(~(int64_t)v.i, false);
}

static inline struct plain plain_logic(struct reference *r, const struct filter_node *n)
{
	const struct filter_node *o;

	for (o = n->first; o && !r->failed; o = o->next)
		if (plain_truth(r, plain_eval(r, o)) == (n->op == OP_EITHER))
			return plain_int(n->op == OP_EITHER, false);
	return plain_int(n->op == OP_BOTH, false);
}

static inline struct plain plain_eval(struct reference *r, const struct filter_node *n)
{
	switch (n->kind) {
	case NODE_NUMBER:
		if (n->value.type == FILTER_FLOAT)
			return (struct plain){ .kind = PLAIN_FLOAT, .f = n->value.f };
		return n->value.type == FILTER_SIGNED ? plain_int(n->value.i, false)
						      : plain_int(n->value.u, true);
	case NODE_STRING:
		return (struct plain){ .kind = PLAIN_STRING, .s = n->text, .n = n->text_length };
	case NODE_FIELD:
		return plain_field(r, n);
	case NODE_CONTEXT:
		return plain_context(r, n);
	case NODE_UNARY:
		return plain_unary(r, n);
	case NODE_BINARY:
		return plain_binary(r, n);
	default:
		return plain_logic(r, n);
	}
}

/* Of a filter whose types do not clash. */
static inline bool reference_run(const struct filter *f, const struct sample *s)
{
	struct reference r = { .sample = s };
	bool holds = plain_truth(&r, plain_eval(&r, f->root));

	return holds && !r.failed;
}

/* Compiles and runs; -1: the program is not one, or filter_compile failed. */
static inline int sample_run(const struct filter *const *filters, size_t count,
			     const struct sample *s)
{
	struct filter_event e = sample_event(s);
	struct filter_input in = {
		.payload = (const uint8_t *)s->payload.data,
		.len = s->payload.len,
		.context = sample_context,
	};
	struct md_buf program = MD_BUF_INIT;
	int ret = filter_compile(filters, count, &e, &program);

	if (ret == 1 || ret == 2)
		ret = program.len ? -1 : ret == 1;
	else if (ret || program.len % 8 || !filter_verify(program.data, program.len))
		ret = -1;
	else
		ret = filter_run(program.data, program.len, &in);
	md_buf_deinit(&program);
	return ret;
}

#endif
