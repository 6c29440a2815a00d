/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For tests of filters: events with payloads, and a plain evaluation of the parsed tree. That
 * shares nothing with the compiler and the interpreter: every value is looked up where it is
 * needed, integers are 128 bits wide, patterns are matched by a table.
 */
#ifndef TESTS_UNIT_FILTERS_H
#define TESTS_UNIT_FILTERS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/buf.h"
#include "tracer/abi/filter_interp.h"
#include "tracer/filter/tree.h"

struct sample {
	struct trail_reg_field fields[TRAIL_EVENT_FIELDS_MAX];
	uint32_t count;
	struct md_buf strings, payload;
};

static inline void sample_deinit(struct sample *s)
{
	md_buf_deinit(&s->strings);
	md_buf_deinit(&s->payload);
}

static inline struct filter_event sample_event(const struct sample *s)
{
	return (struct filter_event){ .fields = s->fields,
				      .field_count = s->count,
				      .strings = s->strings.data };
}

static inline void sample_field(struct sample *s, const char *name, int kind, int size,
				unsigned int flags, uint32_t count, int length)
{
	s->fields[s->count++] = (struct trail_reg_field){
		.name = (uint32_t)s->strings.len,
		.kind = (uint8_t)kind,
		.size = (uint8_t)size,
		.flags = (uint8_t)flags,
		.count = count,
		.length = (uint8_t)length,
	};
	md_buf_put(&s->strings, name, strlen(name) + 1);
}

static inline void sample_number(struct sample *s, uint64_t v, int size, unsigned int flags)
{
	int i;

	for (i = 0; i < size; i++)
		md_buf_putc(&s->payload,
			    (char)(v >> 8 * (flags & TRAIL_FIELD_BIG_ENDIAN ? size - 1 - i : i)));
}

static inline void sample_int(struct sample *s, const char *name, int size, unsigned int flags,
			      uint64_t v)
{
	sample_field(s, name, TRAIL_KIND_INT, size, flags, 0, 0);
	sample_number(s, v, size, flags);
}

static inline void sample_float(struct sample *s, const char *name, int size, unsigned int flags,
				double v)
{
	float f = (float)v;
	uint32_t half;
	uint64_t bits;

	memcpy(&half, &f, 4);
	memcpy(&bits, &v, 8);
	sample_field(s, name, TRAIL_KIND_FLOAT, size, flags, 0, 0);
	sample_number(s, size == 4 ? half : bits, size, flags);
}

static inline void sample_string(struct sample *s, const char *name, unsigned int flags,
				 const char *v)
{
	sample_field(s, name, TRAIL_KIND_STRING, 0, flags, 0, 0);
	md_buf_put(&s->payload, v, strlen(v) + 1);
}

/* An array if length is 0. */
static inline void sample_elements(struct sample *s, const char *name, int size, unsigned int flags,
				   int length, const uint64_t *v, uint32_t count)
{
	uint32_t i;

	sample_field(s, name, length ? TRAIL_KIND_SEQUENCE : TRAIL_KIND_ARRAY, size, flags,
		     length ? 0 : count, length);
	sample_number(s, count, length, 0);
	for (i = 0; i < count; i++)
		sample_number(s, v[i], size, flags);
}

/* count bytes, which v has and NULs behind it */
static inline void sample_text(struct sample *s, const char *name, int length, const char *v,
			       uint32_t count)
{
	uint32_t i;

	sample_field(s, name, length ? TRAIL_KIND_SEQUENCE : TRAIL_KIND_ARRAY, 1, TRAIL_FIELD_TEXT,
		     length ? 0 : count, length);
	sample_number(s, count, length, 0);
	for (i = 0; i < count; i++)
		md_buf_putc(&s->payload, i < strlen(v) ? v[i] : '\0');
}

/* vpid -1000 … so that every context has a value of its own; $app.a:X has the type that X says. */
static inline bool sample_context(void *arg, uint32_t kind, const char *name,
				  struct filter_value *out)
{
	*out = (struct filter_value){ .type = FILTER_UNSIGNED, .u = 1000 + kind };
	(void)arg;
	if (kind == TRAIL_CONTEXT_PROCNAME)
		*out = (struct filter_value){ .type = FILTER_STRING,
					      .s = "trailfs-test-XX",
					      .len = 12 };
	else if (kind == TRAIL_CONTEXT_CPU_ID)
		*out = (struct filter_value){ .type = FILTER_SIGNED, .i = 3 };
	else if (kind == TRAIL_CONTEXT_VTID)
		return false;
	else if (kind == TRAIL_CONTEXT_VPID)
		*out = (struct filter_value){ .type = FILTER_SIGNED, .i = -7 };
	else if (kind == TRAIL_CONTEXT_PERF)
		/* In the expression, and in a program. */
		return !strcmp(name, "cpu-cycles") || !strcmp(name, "0:0");
	else if (kind == TRAIL_CONTEXT_APP && !strcmp(name, "a:int"))
		*out = (struct filter_value){ .type = FILTER_SIGNED, .i = -5 };
	else if (kind == TRAIL_CONTEXT_APP && !strcmp(name, "a:float"))
		*out = (struct filter_value){ .type = FILTER_FLOAT, .f = 2.5 };
	else if (kind == TRAIL_CONTEXT_APP && !strcmp(name, "a:text"))
		*out = (struct filter_value){ .type = FILTER_STRING, .s = "a text", .len = 6 };
	else if (kind == TRAIL_CONTEXT_APP)
		*out = (struct filter_value){ .type = FILTER_NONE };
	return true;
}

/* One of everything: fixed ones, then behind strings and sequences, then those for filters only. */
static inline void sample_everything(struct sample *s)
{
	static const uint64_t mac[] = { 1, 2, 0xff, 4 }, vals[] = { (uint64_t)-1, 20, 30 },
			      ports[] = { 80, 65535 };

	*s = (struct sample){ 0 };
	sample_int(s, "s8", 1, TRAIL_FIELD_SIGNED, (uint64_t)-3);
	sample_int(s, "u8", 1, 0, 200);
	sample_int(s, "s16", 2, TRAIL_FIELD_SIGNED, (uint64_t)-300);
	sample_int(s, "u16", 2, 0, 60000);
	sample_int(s, "id", 4, TRAIL_FIELD_SIGNED, (uint64_t)-70000);
	sample_int(s, "u32", 4, 0, 4000000000);
	sample_int(s, "least", 8, TRAIL_FIELD_SIGNED, (uint64_t)INT64_MIN);
	sample_int(s, "most", 8, 0, UINT64_MAX);
	sample_int(s, "zero", 4, TRAIL_FIELD_SIGNED, 0);
	sample_float(s, "f32", 4, 0, 1.5);
	sample_float(s, "f64", 8, 0, -2.25);
	sample_float(s, "nan", 8, 0, strtod("nan", NULL));
	sample_int(s, "be16", 2, TRAIL_FIELD_SIGNED | TRAIL_FIELD_BIG_ENDIAN, (uint64_t)-2);
	sample_int(s, "beu16", 2, TRAIL_FIELD_BIG_ENDIAN, 0x1234);
	sample_int(s, "be32", 4, TRAIL_FIELD_BIG_ENDIAN, 0x12345678);
	sample_int(s, "be64", 8, TRAIL_FIELD_BIG_ENDIAN | TRAIL_FIELD_SIGNED, (uint64_t)-5);
	sample_float(s, "fbe", 8, TRAIL_FIELD_BIG_ENDIAN, 1e300);
	sample_elements(s, "mac", 1, 0, 0, mac, 4);
	sample_text(s, "comm", 0, "bash", 16);
	sample_text(s, "full", 0, "abcd", 4);
	sample_string(s, "path", 0, "/usr/bin/app*");
	sample_int(s, "code", 4, 0, 500);
	sample_elements(s, "vals", 4, TRAIL_FIELD_SIGNED, 4, vals, 3);
	sample_text(s, "msg", 2, "hello", 5);
	sample_int(s, "after", 2, TRAIL_FIELD_SIGNED, (uint64_t)-9);
	sample_elements(s, "ports", 2, TRAIL_FIELD_BIG_ENDIAN, 1, ports, 2);
	sample_elements(s, "none", 8, 0, 8, NULL, 0);
	sample_string(s, "empty", 0, "");
	sample_int(s, "not-a-name", 4, 0, 77);
	sample_int(s, "hidden", 4, TRAIL_FIELD_SIGNED | TRAIL_FIELD_NOWRITE, 42);
	sample_string(s, "secret", TRAIL_FIELD_NOWRITE, "/usr/bin/app*");
}

/* NULL, and says why, if it cannot be parsed. */
static inline struct filter *sample_parse(const char *text)
{
	struct tr_err err = TR_ERR_INIT;
	struct filter *f = NULL;

	if (filter_parse(text, 0, DOMAIN_USER, &f, &err)) {
		printf("# %s: column %d: %s\n", text, err.column, err.sentence);
		return NULL;
	}
	return f;
}

/* ---- the reference ---- */

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
