/* SPDX-License-Identifier: MIT */
#include "metadata/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/json.h"
#include "metadata/name.h"
#include "metadata/number.h"
#include "metadata/program.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* ---- places ---- */

static bool is_scalar(const struct md_type *t)
{
	return t->kind == MD_INT || t->kind == MD_ENUM || t->kind == MD_FLOAT;
}

static const uint8_t *skip_type(const struct md_type *t, const uint8_t *p, const uint8_t *end);

static const uint8_t *skip_elements(const struct md_type *t, uint64_t n, const uint8_t *p,
				    const uint8_t *end)
{
	if (is_scalar(t))
		return n <= (size_t)(end - p) / t->size ? p + n * t->size : NULL;
	/* Each element has at least one byte: check.c. */
	while (p && n--)
		p = skip_type(t, p, end);
	return p;
}

/* The place after the value at p; NULL: it extends beyond `end`. */
static const uint8_t *skip_type(const struct md_type *t, const uint8_t *p, const uint8_t *end)
{
	const uint8_t *nul;

	switch (t->kind) {
	case MD_STRING:
		nul = memchr(p, 0, (size_t)(end - p));
		return nul ? nul + 1 : NULL;
	case MD_ARRAY:
		return skip_elements(t->element, t->count, p, end);
	case MD_SEQUENCE:
		if (t->length_size > (size_t)(end - p))
			return NULL;
		return skip_elements(t->element, md_load_field(p, t->length_size, 0),
				     p + t->length_size, end);
	case MD_STRUCT:
		for (uint32_t i = 0; p && i < t->count; i++)
			p = skip_type(&t->members[i].type, p, end);
		return p;
	case MD_VARIANT:
		if (p == end || *p >= t->count)
			return NULL;
		return skip_type(&t->members[*p].type, p + 1, end);
	default:
		return t->size <= (size_t)(end - p) ? p + t->size : NULL;
	}
}

/*
 * The value of this type, which skip_type has measured; of a variant that of its option. The bytes
 * may have changed since then.
 */
static struct md_value value_at(const struct md_type *t, const uint8_t *p, const uint8_t *end)
{
	while (t->kind == MD_VARIANT) {
		uint8_t tag = p < end ? *(const volatile uint8_t *)p++ : UINT8_MAX;

		t = &t->members[tag < t->count ? tag : 0].type;
		if (tag == UINT8_MAX || (t->kind == MD_STRUCT && !t->count))
			return (struct md_value){ t, NULL, NULL };
	}
	return (struct md_value){ t, p, end };
}

bool md_values_cut(const struct md_field *fields, uint32_t count, const uint8_t *p,
		   const uint8_t *end, struct md_value *values)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct md_type *t = &fields[i].type;
		const uint8_t *next;

		if (is_scalar(t))
			next = t->size <= (size_t)(end - p) ? p + t->size : NULL;
		else
			next = skip_type(t, p, end);
		if (!next)
			return false;
		values[i] = value_at(t, p, next);
		p = next;
	}
	return true;
}

static inline uint64_t load_integer(const struct md_type *t, const uint8_t *p)
{
	unsigned int unused = 64 - 8u * t->size;
	uint64_t n;

	if (t->bits)
		return md_load_bits(p, t->shift, t->bits, t->is_signed);
	/* The most frequent sizes without a call */
	if (t->size == 4 && !t->big_endian)
		n = md_load32(p);
	else if (t->size == 8 && !t->big_endian)
		n = md_load64(p);
	else
		n = md_load_field(p, t->size, t->big_endian);
	return t->is_signed ? (uint64_t)((int64_t)(n << unused) >> unused) : n;
}

bool md_value_integer(const struct md_value *v, uint64_t *n)
{
	if (v->type->kind != MD_INT && v->type->kind != MD_ENUM)
		return false;
	*n = load_integer(v->type, v->p);
	return true;
}

static bool is_array(const struct md_type *t)
{
	return t->kind == MD_ARRAY || t->kind == MD_SEQUENCE;
}

/* The bytes of an array or of a sequence, and the number of its elements. */
static const uint8_t *elements_of(const struct md_value *v, uint64_t *n)
{
	*n = v->type->kind == MD_ARRAY ? v->type->count
				       : md_load_field(v->p, v->type->length_size, 0);
	return v->type->kind == MD_ARRAY ? v->p : v->p + v->type->length_size;
}

bool md_value_integers(const struct md_value *v, uint64_t *n)
{
	const struct md_type *e = v->p && is_array(v->type) ? v->type->element : NULL;
	const uint8_t *p;

	if (!e || (e->kind != MD_INT && e->kind != MD_ENUM))
		return false;
	p = elements_of(v, n);
	/* The bytes may have changed since the value was cut. */
	return *n <= (uint64_t)(v->end - p) / e->size;
}

uint64_t md_value_element(const struct md_value *v, uint64_t i)
{
	uint64_t n;

	return load_integer(v->type->element, elements_of(v, &n) + i * v->type->element->size);
}

bool md_value_string(const struct md_value *v, const char **s, size_t *n)
{
	const uint8_t *p = v->p;
	uint64_t count = (uint64_t)(v->end - p);

	if (is_array(v->type) && md_type_is_text(v->type->element))
		p = elements_of(v, &count);
	else if (v->type->kind != MD_STRING)
		return false;
	if (count > (uint64_t)(v->end - p))
		count = (uint64_t)(v->end - p);
	*s = (const char *)p;
	*n = strnlen(*s, (size_t)count);
	return true;
}

/* ---- text ---- */

/* How many of the first bytes are ASCII; copies 16 at a time. */
static size_t copy_ascii(char *o, const uint8_t *p, size_t n)
{
	size_t i = 0;

#ifdef __SSE2__
	for (; n - i >= 16; i += 16) {
		__m128i x = _mm_loadu_si128((const __m128i *)(const void *)(p + i));

		if (_mm_movemask_epi8(x))
			break;
		_mm_storeu_si128((__m128i *)(void *)(o + i), x);
	}
#endif
	for (; i < n && p[i] < 0x80; i++)
		o[i] = (char)p[i];
	return i;
}

void md_value_put_text(const char *s, size_t n, struct md_buf *out)
{
	const uint8_t *p = (const uint8_t *)s, *end = p + strnlen(s, n);
	char *o = md_buf_room(out, 3 * (size_t)(end - p));      /* U+FFFD has three bytes */

	while (o && p < end) {
		size_t len = copy_ascii(o, p, (size_t)(end - p));

		p += len;
		o += len;
		if (p == end)
			break;
		/* md_utf8_char does not accept C1, which only a terminal takes for commands. */
		if (end - p > 1 && *p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
			len = 2;
		else
			len = md_utf8_char(p, (size_t)(end - p));
		memcpy(o, len ? (const char *)p : "\xef\xbf\xbd", len ? len : 3);
		o += len ? len : 3;
		p += len ? len : 1;
	}
	if (o)
		out->len = (size_t)(o - out->data);
}

/* ---- values ---- */

static void put_integer(const struct md_type *t, uint64_t n, struct md_buf *out)
{
	char *o = md_buf_room(out, 24);

	if (o)
		out->len = (size_t)((t->is_signed ? md_put_s64(o, (int64_t)n)
						  : md_put_u64(o, n)) - out->data);
}

/* Whether it is finite. */
static bool put_float(const struct md_value *v, struct md_buf *out)
{
	uint64_t bits = md_load_field(v->p, v->type->size, v->type->big_endian);
	uint32_t low = (uint32_t)bits;
	double d;
	float f;
	char *o;

	memcpy(&d, &bits, sizeof(d));
	memcpy(&f, &low, sizeof(f));
	if (v->type->size == 4)
		d = (double)f;
	if (isnan(d) || isinf(d)) {
		md_buf_puts(out, isnan(d) ? "NaN" : d < 0 ? "-Infinity" : "Infinity");
		return false;
	}
	o = md_buf_room(out, 40);
	if (o)
		out->len = (size_t)(md_json_put_double(o, d, v->type->size == 4) - out->data);
	return true;
}

/* The place in mappings of the first one with the name of mapping i. */
static uint32_t first_of_name(const struct md_type *t, uint32_t i)
{
	uint32_t first = 0;

	while (first < i && strcmp(t->mappings[first].name, t->mappings[i].name) != 0)
		first++;
	return first;
}

/* The label of v after the one whose name is first at `after`, in the order of md_sort_mappings. */
static uint32_t next_label(const struct md_type *t, uint64_t v, int64_t after)
{
	uint32_t found = UINT32_MAX;

	for (uint32_t i = 0; i < t->count; i++) {
		const struct md_mapping *m = &t->mappings[i];
		bool in = t->is_signed ? (int64_t)v >= m->begin && (int64_t)v <= m->end
				       : v >= (uint64_t)m->begin && v <= (uint64_t)m->end;
		uint32_t first = in ? first_of_name(t, i) : UINT32_MAX;

		if (first > after && first < found)
			found = first;
	}
	return found;
}

/* The labels of the value as the enumeration's text in JSON has them. False: it has none. */
static bool put_labels(const struct md_type *t, uint64_t v, struct md_buf *out)
{
	int64_t after = -1;
	uint32_t i;

	while ((i = next_label(t, v, after)) != UINT32_MAX) {
		const char *name = t->mappings[i].name;

		if (after >= 0)
			md_buf_puts(out, ", ");
		md_value_put_text(name, strlen(name), out);
		after = i;
	}
	return after >= 0;
}

static const uint8_t *put_json(const struct md_type *t, const uint8_t *p, const uint8_t *end,
			       struct md_buf *out);

static void put_json_array(const struct md_value *v, struct md_buf *out)
{
	const struct md_type *e = v->type->element;
	uint64_t n;
	const uint8_t *p = elements_of(v, &n);

	md_buf_putc(out, '[');
	for (uint64_t i = 0; i < n && p && !out->failed; i++) {
		if (i)
			md_buf_putc(out, ',');
		p = put_json(e, p, v->end, out);
	}
	md_buf_putc(out, ']');
}

static void put_json_struct(const struct md_value *v, struct md_buf *out)
{
	const struct md_field *f = v->type->members;
	const uint8_t *p = v->p;

	md_buf_putc(out, '{');
	for (uint32_t i = 0; i < v->type->count && p; i++) {
		md_buf_puts(out, i ? ",\"" : "\"");
		md_name_field(f[i].name, out);
		md_buf_puts(out, "\":");
		p = put_json(&f[i].type, p, v->end, out);
	}
	md_buf_putc(out, '}');
}

/* Puts the text from `at` on in quotes, with escapes. */
static void quote_text(struct md_buf *out, size_t at)
{
	char *text = out->failed ? NULL : strndup(out->data + at, out->len - at);
	size_t n = out->len - at;

	out->failed |= !text;
	if (!text)
		return;
	out->len = at;
	md_buf_putc(out, '"');
	md_json_escape_put(text, n, out);
	md_buf_putc(out, '"');
	free(text);
}

/* As md_json_event prints it. Returns the place after the value; NULL: it is not complete. */
static const uint8_t *put_json(const struct md_type *t, const uint8_t *p, const uint8_t *end,
			       struct md_buf *out)
{
	struct md_value v;

	end = skip_type(t, p, end);
	if (!end)
		return NULL;
	v = value_at(t, p, end);
	md_value_json(&v, out);
	return end;
}

void md_value_json(const struct md_value *v, struct md_buf *out)
{
	bool is_enum = md_type_is_enum(v->type);
	enum md_shown shown;
	const char *s;
	size_t at, len;

	if (v->p && md_value_string(v, &s, &len)) {
		md_buf_putc(out, '"');
		md_json_escape_put(s, len, out);
		md_buf_putc(out, '"');
		return;
	}
	if (is_enum) {
		md_buf_puts(out, "{\"value\":");
		put_integer(v->type, load_integer(v->type, v->p), out);
		md_buf_puts(out, ",\"label\":");
	}
	at = out->len;
	shown = md_value_show(v, out);
	if (shown == MD_SHOWN_TEXT)
		quote_text(out, at);
	if (is_enum && shown == MD_SHOWN_NUMBER)
		out->len = at;
	if (shown == MD_SHOWN_NONE || (is_enum && shown == MD_SHOWN_NUMBER))
		md_buf_puts(out, "null");
	if (is_enum)
		md_buf_putc(out, '}');
}

enum md_shown md_value_show(const struct md_value *v, struct md_buf *out)
{
	const char *s;
	uint64_t n;
	size_t len;

	if (v->type->kind == MD_INT || v->type->kind == MD_ENUM) {
		n = load_integer(v->type, v->p);
		if (md_type_is_enum(v->type) && put_labels(v->type, n, out))
			return MD_SHOWN_TEXT;
		put_integer(v->type, n, out);
		return MD_SHOWN_NUMBER;
	}
	if (md_value_string(v, &s, &len)) {
		md_value_put_text(s, len, out);
		return MD_SHOWN_TEXT;
	}
	if (v->type->kind == MD_FLOAT)
		return put_float(v, out) ? MD_SHOWN_NUMBER : MD_SHOWN_TEXT;
	if (!v->p)
		return MD_SHOWN_NONE;
	if (is_array(v->type))
		put_json_array(v, out);
	else
		put_json_struct(v, out);
	return MD_SHOWN_JSON;
}
