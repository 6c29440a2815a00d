// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/view/map/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/buf.h"
#include "metadata/name.h"
#include "metadata/number.h"

#define NESTED_MAX 32           /* types in each other */

/* ---- routes ---- */

/* The index of the field with the name that readers see; count: there is none. */
static uint32_t find_name(const struct md_field *fields, uint32_t count, const char *name,
			  size_t len)
{
	struct md_buf text = MD_BUF_INIT, own = MD_BUF_INIT;
	char *copy = strndup(name, len);
	uint32_t i = count;

	if (copy)
		md_name_field(copy, &text);
	for (i = 0; copy && i < count; i++) {
		md_buf_reset(&own);
		md_name_field(fields[i].name, &own);
		if (!strcmp(md_buf_str(&own), md_buf_str(&text)))
			break;
	}
	if (!copy || text.failed || own.failed)
		i = count;
	free(copy);
	md_buf_deinit(&text);
	md_buf_deinit(&own);
	return i;
}

/* One step from t; NULL: t has no such part. *text moves on. */
static const struct md_type *step(const struct md_type *t, const char **text, uint32_t *index)
{
	char *end;
	size_t len;

	if (**text == '[' && (t->kind == MD_ARRAY || t->kind == MD_SEQUENCE)) {
		unsigned long i = strtoul(*text + 1, &end, 10);

		if (end == *text + 1 || *end != ']' || i > UINT32_MAX)
			return NULL;
		*index = (uint32_t)i;
		*text = end + 1;
		return t->element;
	}
	if (**text != '.' || t->kind != MD_STRUCT)
		return NULL;
	len = strcspn(++*text, ".[");
	*index = find_name(t->members, t->count, *text, len);
	*text += len;
	return *index < t->count ? &t->members[*index].type : NULL;
}

struct map_route map_find_route(const struct md_stream *class, const struct md_event *e,
				const char *text)
{
	struct map_route r = { .context = *text == '$' };
	const struct md_field *fields = r.context ? class->context : e->fields;
	uint32_t count = r.context ? class->context_count : e->field_count;
	const struct md_type *t;
	size_t len;

	/* $app.PROVIDER:NAME is the field's whole name. */
	if (!strncmp(text, "$ctx.", 5))
		text += 5;
	len = r.context ? strlen(text) : strcspn(text, ".[");
	r.steps[0] = find_name(fields, count, text, len);
	if (r.steps[0] == count)
		return (struct map_route){ 0 };
	t = &fields[r.steps[0]].type;
	r.count = 1;
	for (text += len; *text; r.count++) {
		t = r.count < MAP_STEPS_MAX ? step(t, &text, &r.steps[r.count]) : NULL;
		if (!t)
			return (struct map_route){ 0 };
	}
	return r;
}

/* ---- bytes ---- */

static uint64_t load(const uint8_t *p, size_t size, bool big_endian)
{
	uint64_t v = 0;

	for (size_t i = 0; i < size; i++)
		v = v << 8 | p[big_endian || MD_HOST_IS_BIG ? i : size - 1 - i];
	return v;
}

static const uint8_t *skip(const struct md_type *t, const uint8_t *p, const uint8_t *end,
			   int depth);

static const uint8_t *skip_many(const struct md_type *element, uint64_t n, const uint8_t *p,
				const uint8_t *end, int depth)
{
	uint64_t bytes;

	if (element->kind <= MD_FLOAT || element->kind == MD_ENUM) {
		if (__builtin_mul_overflow(n, element->size, &bytes) || bytes > (size_t)(end - p))
			return NULL;
		return p + bytes;
	}
	while (p && n--)
		p = skip(element, p, end, depth);
	return p;
}

/* The place after a value of the type; NULL: it is not inside the event. */
static const uint8_t *skip(const struct md_type *t, const uint8_t *p, const uint8_t *end,
			   int depth)
{
	const uint8_t *nul;
	uint64_t n;

	if (!p || depth > NESTED_MAX)
		return NULL;
	switch ((enum md_kind)t->kind) {
	case MD_INT:
	case MD_FLOAT:
	case MD_ENUM:
		return t->size <= (size_t)(end - p) ? p + t->size : NULL;
	case MD_STRING:
		nul = memchr(p, 0, (size_t)(end - p));
		return nul ? nul + 1 : NULL;
	case MD_ARRAY:
		return skip_many(t->element, t->count, p, end, depth + 1);
	case MD_SEQUENCE:
		if (t->length_size > (size_t)(end - p))
			return NULL;
		n = load(p, t->length_size, false);
		return skip_many(t->element, n, p + t->length_size, end, depth + 1);
	case MD_STRUCT:
		for (uint32_t i = 0; i < t->count; i++)
			p = skip(&t->members[i].type, p, end, depth + 1);
		return p;
	case MD_VARIANT:
		if (p == end || *p >= t->count)
			return NULL;
		return skip(&t->members[*p].type, p + 1, end, depth + 1);
	}
	return NULL;
}

/* ---- values ---- */

static bool is_text(const struct md_type *element)
{
	return element->kind == MD_INT && element->size == 1 &&
	       element->encoding == MD_ENCODING_UTF8;
}

static void set_text(struct map_value *v, const uint8_t *p, size_t n)
{
	v->kind = MAP_TEXT;
	v->text = (const char *)p;
	v->len = strnlen(v->text, n);
}

static void read_number(const struct md_type *t, const uint8_t *p, struct map_value *v)
{
	float f;

	v->u = t->bits ? md_load_bits(p, t->shift, t->bits, t->is_signed)
		       : load(p, t->size, t->big_endian);
	v->kind = t->kind == MD_FLOAT ? MAP_FLOAT : t->is_signed ? MAP_SIGNED : MAP_UNSIGNED;
	v->hex = t->kind == MD_INT && t->base == 16;
	if (t->kind == MD_FLOAT && t->size == 4) {
		uint32_t bits = (uint32_t)v->u;

		memcpy(&f, &bits, 4);
		v->f = (double)f;
		v->single = true;
	} else if (v->kind == MAP_SIGNED && !t->bits && t->size < 8 && v->u >> (8 * t->size - 1)) {
		v->u |= UINT64_MAX << (8 * t->size);
	}
}

/* The name of the number, if one mapping has it. */
static void set_label(const struct md_type *t, struct map_value *v)
{
	for (uint32_t i = 0; i < t->count && !v->text; i++) {
		const struct md_mapping *m = &t->mappings[i];

		if (t->is_signed ? v->i < m->begin || v->i > m->end
				 : v->u < (uint64_t)m->begin || v->u > (uint64_t)m->end)
			continue;
		v->text = m->name;
		v->len = strlen(m->name);
	}
}

/* The value of type t at p, which is inside the event. */
static struct map_value read_type(const struct md_type *t, const uint8_t *p, const uint8_t *end)
{
	struct map_value v = { 0 };
	uint64_t n;

	/* The value of an application's context has one of several types. */
	if (t->kind == MD_VARIANT && p < end && *p < t->count)
		t = &t->members[*p++].type;
	if (!skip(t, p, end, 0))
		return v;
	if (t->kind == MD_INT || t->kind == MD_FLOAT || t->kind == MD_ENUM) {
		read_number(t, p, &v);
		if (t->kind == MD_ENUM)
			set_label(t, &v);
	} else if (t->kind == MD_STRING) {
		set_text(&v, p, (size_t)(end - p));
	} else if (t->kind == MD_ARRAY && is_text(t->element)) {
		set_text(&v, p, t->count);
	} else if (t->kind == MD_SEQUENCE && is_text(t->element)) {
		n = load(p, t->length_size, false);
		set_text(&v, p + t->length_size, (size_t)n);
	}
	return v;
}

struct map_value map_read(const struct md_stream *class, const struct md_occurrence *o,
			  const struct map_route *r)
{
	const struct md_field *fields = r->context ? class->context : o->event->fields;
	const uint8_t *p = r->context ? o->context : o->payload, *end = o->end;
	const struct md_type *t;
	uint64_t n;

	if (!r->count || !p)
		return (struct map_value){ 0 };
	for (uint32_t i = 0; i < r->steps[0]; i++)
		p = skip(&fields[i].type, p, end, 0);
	t = &fields[r->steps[0]].type;
	for (uint8_t s = 1; s < r->count && p; s++) {
		if (t->kind == MD_STRUCT) {
			for (uint32_t i = 0; i < r->steps[s]; i++)
				p = skip(&t->members[i].type, p, end, 0);
			t = &t->members[r->steps[s]].type;
			continue;
		}
		n = t->count;
		if (t->kind == MD_SEQUENCE && t->length_size <= (size_t)(end - p)) {
			n = load(p, t->length_size, false);
			p += t->length_size;
		}
		t = t->element;
		p = r->steps[s] < n ? skip_many(t, r->steps[s], p, end, 0) : NULL;
	}
	return p ? read_type(t, p, end) : (struct map_value){ 0 };
}

long double map_number(const struct map_value *v)
{
	switch (v->kind) {
	case MAP_SIGNED:
		return (long double)v->i;
	case MAP_UNSIGNED:
		return (long double)v->u;
	case MAP_FLOAT:
		return (long double)v->f;
	default:
		return (long double)NAN;
	}
}
