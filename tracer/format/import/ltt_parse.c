/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LTT's definitions: tags with attributes, in quotes or not. Types become those of the model at
 * once; a reference to a named type reads its definition again, so depth and number of types are
 * limited. Tags and attributes that are not known are skipped.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/format/import/ltt_tag.h"

#define DEPTH_MAX 10u
#define TYPES_MAX 65536u        /* of one definition */
#define FIELDS_MAX 512u
#define LABELS_MAX 4096u

/* ---- types ---- */

static bool read_type(struct parser *x, const struct tag *t, struct md_type *out,
		      unsigned int depth);

static bool read_number(struct parser *x, const struct tag *t, const char *name, uint64_t most,
			uint64_t *out)
{
	const char *value = ltt_tag_attribute(t, name);
	char *end;

	if (!value)
		return true;
	errno = 0;
	*out = strtoull(value, &end, 0);
	if (errno || end == value || *end || *value == '-' || *out > most)
		return ltt_tag_fail(x, "expected a number in range");
	return true;
}

/* The size and sign of an integer by the name of its type. False: it is none. */
static bool integer_of(const struct parser *x, const char *name, uint64_t *size, bool *is_signed)
{
	const struct ltt_sizes *s = &x->f->sizes;
	const struct { const char *name; uint8_t size; bool is_signed; } types[] = {
		{ "int", s->integer, true }, { "uint", s->integer, false },
		{ "char", 1, true }, { "uchar", 1, false },
		{ "short", 2, true }, { "ushort", 2, false },
		{ "long", s->longs, true }, { "ulong", s->longs, false },
		{ "int_fixed", s->integer, true }, { "uint_fixed", s->integer, false },
		{ "pointer", s->pointer, false }, { "size_t", s->size, false },
		{ "ssize_t", s->size, true }, { "off_t", s->longs, true },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strcmp(name, types[i].name))
			continue;
		*size = types[i].size;
		*is_signed = types[i].is_signed;
		return true;
	}
	return false;
}

static bool set_integer(struct parser *x, const struct tag *t, uint64_t size, bool is_signed,
			struct md_type *out)
{
	uint64_t base = strcmp(t->name, "pointer") ? 10 : 16, text = 0;

	if (!read_number(x, t, "size", 8, &size) || !read_number(x, t, "trail_base", 16, &base) ||
	    !read_number(x, t, "trail_text", 1, &text))
		return false;
	*out = (struct md_type){ .kind = MD_INT, .size = (uint8_t)size, .is_signed = is_signed,
				 .big_endian = x->f->sizes.big_endian ||
					       ltt_tag_attribute(t, "network"),
				 .base = (uint8_t)base,
				 .encoding = text ? MD_ENCODING_UTF8 : MD_ENCODING_NONE };
	if (!size || size & (size - 1))
		return ltt_tag_fail(x, "expected an integer of 1, 2, 4 or 8 bytes");
	return true;
}

static bool read_label(struct parser *x, const struct tag *t, struct md_type *out, int64_t *next)
{
	const char *value = ltt_tag_attribute(t, "value"), *end = ltt_tag_attribute(t, "trail_end");
	struct md_mapping *m = &out->mappings[out->count];
	int64_t begin = *next;

	if (value)
		begin = *value == '-' ? strtoll(value, NULL, 0) : (int64_t)strtoull(value, NULL, 0);
	m->begin = m->end = begin;
	if (end)
		m->end = *end == '-' ? strtoll(end, NULL, 0) : (int64_t)strtoull(end, NULL, 0);
	*next = (int64_t)((uint64_t)m->end + 1);
	m->name = strdup(ltt_tag_attribute(t, "name") ? ltt_tag_attribute(t, "name") : "");
	if (!m->name)
		return ltt_tag_fail_memory(x);
	out->count++;
	return ltt_tag_skip(x, t);
}

static bool read_enum(struct parser *x, const struct tag *t, struct md_type *out)
{
	struct tag *label = malloc(sizeof(*label));
	int64_t next = 0;

	if (!label || !set_integer(x, t, x->f->sizes.integer,
				   !ltt_tag_attribute(t, "trail_unsigned"), out)) {
		free(label);
		return x->ret ? false : ltt_tag_fail_memory(x);
	}
	out->kind = MD_ENUM;
	while (!t->alone && ltt_tag_next(x, t->name, label)) {
		struct md_mapping *more = out->mappings;

		if (strcmp(label->name, "label") || out->count == LABELS_MAX ||
		    ++x->f->types > TYPES_MAX) {
			ltt_tag_fail(x, "expected at most 4096 tags <label>");
			break;
		}
		if (!(out->count & (out->count - 1)))
			more = realloc(more, 2 * (out->count + 1) * sizeof(*more));
		if (!more) {
			ltt_tag_fail_memory(x);
			break;
		}
		out->mappings = more;
		if (!read_label(x, label, out, &next))
			break;
	}
	free(label);
	return !x->ret;
}

/* The fields in a tag, up to its end. Contexts count. */
static bool read_fields(struct parser *x, const struct tag *outer, struct md_field **fields,
			uint32_t *count, uint32_t *contexts, unsigned int depth)
{
	struct tag *t = malloc(2 * sizeof(*t));

	if (!t)
		return ltt_tag_fail_memory(x);
	while (!outer->alone && ltt_tag_next(x, outer->name, t)) {
		struct md_field *more = *fields;
		const char *name = ltt_tag_attribute(t, "name");

		if (strcmp(t->name, "field") || !name || t->alone || *count == FIELDS_MAX) {
			ltt_tag_fail(x, "expected at most 512 tags <field name=NAME>");
			break;
		}
		if (contexts && ltt_tag_attribute(t, "trail_context") && *contexts == *count)
			++*contexts;
		if (!(*count & (*count - 1)))
			more = realloc(more, 2 * (*count + 1) * sizeof(*more));
		if (more) {
			*fields = more;
			more[*count] = (struct md_field){ .name = strdup(name) };
		}
		if (!more || !more[*count].name) {
			ltt_tag_fail_memory(x);
			break;
		}
		++*count;
		if (!ltt_tag_next(x, "field", t + 1)) {
			ltt_tag_fail(x, "expected a type");
			break;
		}
		if (!read_type(x, t + 1, &more[*count - 1].type, depth + 1) || !ltt_tag_skip(x, t))
			break;
	}
	free(t);
	return !x->ret;
}

/* <array size=N>TYPE</array>, <sequence>LENGTH TYPE</sequence> */
static bool read_elements(struct parser *x, const struct tag *t, struct md_type *out,
			  unsigned int depth)
{
	bool sequence = !strcmp(t->name, "sequence");
	struct tag *inner = malloc(sizeof(*inner));
	struct md_type length = { 0 };
	uint64_t count = 0;

	*out = (struct md_type){ .kind = sequence ? MD_SEQUENCE : MD_ARRAY };
	out->element = inner ? calloc(1, sizeof(*out->element)) : NULL;
	if (!out->element) {
		out->kind = MD_INT;
		ltt_tag_fail_memory(x);
	}
	if (sequence && !x->ret && ltt_tag_next(x, t->name, inner) &&
	    read_type(x, inner, &length, depth + 1) && length.kind != MD_INT)
		ltt_tag_fail(x, "expected an integer as the length of a sequence");
	out->length_size = length.size;
	out->big_endian = length.big_endian;
	md_type_deinit(&length);
	if (!sequence && read_number(x, t, "size", UINT32_MAX, &count))
		out->count = (uint32_t)count;
	if (!x->ret && (t->alone || !ltt_tag_next(x, t->name, inner)))
		ltt_tag_fail(x, "expected the type of an element");
	if (!x->ret && read_type(x, inner, out->element, depth + 1))
		ltt_tag_skip(x, t);
	free(inner);
	return !x->ret;
}

static bool read_reference_to_type(struct parser *x, const struct tag *t, struct md_type *out,
				   unsigned int depth)
{
	const char *name = ltt_tag_attribute(t, "name"), *back = x->p;
	struct tag *inner;
	bool done = false;

	for (unsigned int i = 0; name && i < x->named_count && !done; i++) {
		if (strcmp(x->named[i].name, name))
			continue;
		inner = malloc(sizeof(*inner));
		if (!inner)
			return ltt_tag_fail_memory(x);
		x->p = x->named[i].at;
		if (ltt_tag_next(x, "type", inner))
			read_type(x, inner, out, depth + 1);
		else
			ltt_tag_fail(x, "expected a type");
		free(inner);
		if (x->ret)
			return false;
		done = true;
	}
	x->p = back;
	return done ? ltt_tag_skip(x, t)
		    : ltt_tag_fail(x, "expected the name of a type of this facility");
}

static bool read_type(struct parser *x, const struct tag *t, struct md_type *out,
		      unsigned int depth)
{
	uint64_t size = x->f->sizes.integer;
	bool is_signed;

	if (depth > DEPTH_MAX || ++x->f->types > TYPES_MAX)
		return ltt_tag_fail(x,
				    "expected types that are at most 10 deep, and 65536 of them");
	if (integer_of(x, t->name, &size, &is_signed))
		return set_integer(x, t, size, is_signed, out) && ltt_tag_skip(x, t);
	if (!strcmp(t->name, "string")) {
		*out = (struct md_type){ .kind = MD_STRING };
		return ltt_tag_skip(x, t);
	}
	if (!strcmp(t->name, "float")) {
		size = sizeof(double);
		if (!set_integer(x, t, size, true, out) || out->size < 4)
			return ltt_tag_fail(x, "expected a float of 4 or 8 bytes");
		out->kind = MD_FLOAT;
		out->big_endian = x->f->sizes.big_floats || ltt_tag_attribute(t, "network");
		return ltt_tag_skip(x, t);
	}
	if (!strcmp(t->name, "enum"))
		return read_enum(x, t, out);
	if (!strcmp(t->name, "array") || !strcmp(t->name, "sequence"))
		return read_elements(x, t, out, depth);
	if (!strcmp(t->name, "struct") || !strcmp(t->name, "union")) {
		*out = (struct md_type){ .kind = MD_STRUCT };
		out->length_size = *t->name == 'u' ? LTT_UNION : 0;
		return read_fields(x, t, &out->members, &out->count, NULL, depth);
	}
	if (!strcmp(t->name, "typeref"))
		return read_reference_to_type(x, t, out, depth);
	return ltt_tag_fail(x, "expected a type");
}

/* ---- facilities ---- */

static bool read_event(struct parser *x, const struct tag *t)
{
	const char *name = ltt_tag_attribute(t, "name");
	struct ltt_event *e = &x->f->events[x->f->count];
	struct md_buf full = MD_BUF_INIT;

	if (!name || x->f->count == LTT_IDS)
		return ltt_tag_fail(x, "expected at most 256 tags <event name=NAME>");
	md_buf_printf(&full, "%s%s", x->prefix, name);
	*e = (struct ltt_event){ .e = md_event_create(md_buf_str(&full), MD_LOGLEVEL_NONE, 0) };
	md_buf_deinit(&full);
	if (!e->e)
		return ltt_tag_fail_memory(x);
	x->f->count++;
	return read_fields(x, t, &e->e->fields, &e->e->field_count, &e->contexts, 0);
}

/* Notes where the types with names are: an event may refer to one that comes after it. */
static bool find_types(struct parser *x, struct tag *t)
{
	const char *begin = x->p;

	while (ltt_tag_next(x, "facility", t)) {
		const char *name = ltt_tag_attribute(t, "name");

		if (ltt_tag_is(t, "type") && name && x->named_count < NAMED_MAX) {
			struct named *n = &x->named[x->named_count++];

			snprintf(n->name, sizeof(n->name), "%.63s", name);
			n->at = x->p;
		}
		if (!ltt_tag_skip(x, t))
			return false;
	}
	x->p = begin;
	return !x->ret;
}

static bool read_facility(struct parser *x, struct tag *t)
{
	if (!find_types(x, t))
		return false;
	while (ltt_tag_next(x, "facility", t))
		if (ltt_tag_is(t, "event") ? !read_event(x, t) : !ltt_tag_skip(x, t))
			return false;
	return !x->ret;
}

int ltt_parse(struct ltt_facility *f, const char *path, const char *text, size_t n,
	      struct tr_err *err)
{
	struct parser *x = calloc(1, sizeof(*x));
	struct tag *t = malloc(sizeof(*t));
	const char *name = NULL, *prefix;
	int ret = 0;

	if (!x || !t) {
		free(x);
		free(t);
		return tr_fail(err, -ENOMEM, "out of memory");
	}
	*x = (struct parser){ .path = path, .text = text, .p = text, .end = text + n, .f = f,
			      .err = err };
	while (!name && ltt_tag_read(x, t))
		name = ltt_tag_is(t, "facility") ? ltt_tag_attribute(t, "name") : NULL;
	if (name && !strcmp(name, f->name)) {
		prefix = ltt_tag_attribute(t, "trail_prefix");
		if (prefix)
			snprintf(x->prefix, sizeof(x->prefix), "%s", prefix);
		else
			snprintf(x->prefix, sizeof(x->prefix), "%s:", f->name);
		ret = t->alone || read_facility(x, t);
	}
	ret = x->ret ? x->ret : ret;
	free(x);
	free(t);
	return ret;
}
