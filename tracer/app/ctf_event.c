/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registered tracepoints in the type model: see registration_event in app/registration.h. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"
#include "tracer/app/app.h"
#include "tracer/app/parse.h"

static bool is_joined(const char *whole, const char *name, const char *end)
{
	size_t n = strlen(name);

	return !strncmp(whole, name, n) && !strcmp(whole + n, end);
}

/*
 * Whether it is the name of the hidden field before one of that kind and name: `_NAME_length` of a
 * sequence, `NAME_tag` of a variant.
 */
static bool is_hidden(const char *hidden, const char *name, uint8_t kind)
{
	if (kind == MD_VARIANT)
		return is_joined(hidden, name, "_tag");
	return kind == MD_SEQUENCE && hidden[0] == '_' && is_joined(hidden + 1, name, "_length");
}

/* Whether a name, or its hidden one, is that of a field that is there, or of its hidden one. */
static bool is_same(const struct md_field *f, const char *there, const char *name, uint8_t kind)
{
	return !strcmp(there, name) || is_hidden(there, name, kind) ||
	       is_hidden(name, there, f->type.kind);
}

/*
 * babeltrace2 refuses `x` after `_x`, and after a hidden `_x`: it compares the former with the `_`
 * that the metadata puts before each name, the latter without.
 */
static bool is_taken(const struct md_field *fields, uint32_t before, const char *name,
		     uint8_t kind)
{
	uint32_t i;

	for (i = 0; i < before; i++) {
		const struct md_field *f = &fields[i];

		if (is_same(f, f->name, name, kind) ||
		    (f->name[0] == '_' && is_same(f, f->name + 1, name, kind)))
			return true;
		if (f->type.kind == MD_SEQUENCE && is_joined(name, f->name, "_length"))
			return true;
	}
	return false;
}

/*
 * Two fields of one name would make readers refuse the whole trace: the second becomes name_2. The
 * kind, of enum md_kind, matters only if the field has a hidden one.
 */
static char *field_name(const struct md_field *fields, uint32_t before, const char *claimed,
			uint8_t kind)
{
	struct md_buf name = MD_BUF_INIT;
	unsigned int next = 2;
	size_t len;

	/* As it will be printed, so that no two come to the same later. */
	md_name_field(claimed, &name);
	len = name.len;
	while (is_taken(fields, before, md_buf_str(&name), kind)) {
		name.len = len;
		md_buf_printf(&name, "_%u", next++);
	}
	if (name.failed)
		md_buf_deinit(&name);
	return name.data;
}

static void integer(const struct trail_reg_field *f, struct md_type *t)
{
	t->kind = MD_INT;
	t->size = f->size;
	t->is_signed = f->flags & TRAIL_FIELD_SIGNED;
	t->big_endian = f->flags & TRAIL_FIELD_BIG_ENDIAN;
	t->base = f->flags & TRAIL_FIELD_HEX ? 16 : 10;
}

/*
 * In one line, whatever it says; NULL when memory ran out. The buffer is for passing on from one to
 * the next.
 */
static char *text(const char *claimed, struct md_buf *buffer)
{
	md_buf_reset(buffer);
	md_name_event(claimed, buffer);
	return buffer->failed ? NULL : strdup(md_buf_str(buffer));
}

/* Labels that cover nothing are left out: readers do not expect them. */
static bool covers(const struct trail_reg_label *l, bool is_signed)
{
	return is_signed ? (int64_t)l->begin <= (int64_t)l->end : l->begin <= l->end;
}

static bool labels(const struct registration *r, const struct trail_reg_field *f, struct md_type *t)
{
	const struct trail_reg_enum *e = &r->enums[f->count];
	const struct trail_reg_label *l = &r->labels[e->first_label], *end = l + e->label_count;
	struct md_buf buffer = MD_BUF_INIT;

	t->mappings = calloc((size_t)e->label_count + 1, sizeof(*t->mappings));
	if (!t->mappings)
		return false;
	t->kind = MD_ENUM;
	for (; l < end; l++) {
		struct md_mapping *m = &t->mappings[t->count];

		if (!covers(l, t->is_signed))
			continue;
		m->name = text(r->strings + l->name, &buffer);
		if (!m->name)
			break;
		m->begin = (int64_t)l->begin;
		m->end = (int64_t)l->end;
		t->count++;
	}
	md_buf_deinit(&buffer);
	return l == end;
}

/* "" is no media type. */
static bool blob(const struct registration *r, const struct trail_reg_field *f, struct md_type *t)
{
	const char *media_type = registration_media_type(r->strings, f);
	struct md_buf buffer = MD_BUF_INIT;

	t->show = MD_SHOW_BLOB;
	if (!*media_type)
		return true;
	t->media_type = text(media_type, &buffer);
	md_buf_deinit(&buffer);
	return t->media_type;
}

static bool elements(const struct registration *r, const struct trail_reg_field *f,
		     struct md_type *t)
{
	struct md_type element = { 0 };

	if (f->flags & TRAIL_FIELD_TEXT)
		element = md_char;
	else
		integer(f, &element);
	if (f->flags & TRAIL_FIELD_FLOAT)
		element.kind = MD_FLOAT;
	if (f->kind == TRAIL_KIND_ARRAY ? md_type_array(t, f->count, &element)
					: md_type_sequence(t, f->length, &element))
		return false;
	return !(f->flags & TRAIL_FIELD_BLOB) || blob(r, f, t);
}

static bool type(const struct registration *r, const struct trail_reg_field *f, struct md_type *t)
{
	switch (f->kind) {
	case TRAIL_KIND_INT:
		integer(f, t);
		return !(f->flags & TRAIL_FIELD_ENUM) || labels(r, f, t);
	case TRAIL_KIND_FLOAT:
		t->kind = MD_FLOAT;
		t->size = f->size;
		t->big_endian = f->flags & TRAIL_FIELD_BIG_ENDIAN;
		return true;
	case TRAIL_KIND_STRING:
		t->kind = MD_STRING;
		return true;
	default:
		return elements(r, f, t);
	}
}

static bool has_members(const struct trail_reg_field *f)
{
	return f->kind == TRAIL_KIND_STRUCT || f->kind == TRAIL_KIND_VARIANT;
}

uint32_t registration_extent(const struct trail_reg_field *f)
{
	uint64_t left = 1;
	uint32_t n = 0;

	for (; left; left--, n++)
		left += has_members(&f[n]) ? f[n].count : 0;
	return n;
}

/* A bit field, after one that took the first *used bits of a byte */
static void bit_field(const struct trail_reg_field *f, uint32_t *used, struct md_type *t)
{
	uint32_t begin = trail_bits_begin(*used, f->size);

	*t = (struct md_type){ .kind = MD_INT, .bits = f->size, .shift = (uint8_t)begin,
			       .size = (uint8_t)trail_bits_bytes(begin, f->size),
			       .is_signed = f->flags & TRAIL_FIELD_SIGNED, .base = 10 };
	*used = (begin + f->size) % 8;
}

static bool fill(const struct registration *r, const struct trail_reg_field *f,
		 struct md_field *fields, uint32_t count);

/* A structure or a variant, which has another option, of nothing, for tags that select none. */
static bool members(const struct registration *r, const struct trail_reg_field *f,
		    struct md_type *t)
{
	bool variant = f->kind == TRAIL_KIND_VARIANT;
	struct md_field *none;

	t->members = calloc((size_t)f->count + variant, sizeof(*t->members));
	if (!t->members)
		return false;
	t->kind = variant ? MD_VARIANT : MD_STRUCT;
	t->count = f->count + variant;
	if (!fill(r, f + 1, t->members, f->count))
		return false;
	if (!variant)
		return true;
	none = &t->members[f->count];
	none->type.kind = MD_STRUCT;
	none->name = field_name(t->members, f->count, "none", MD_STRUCT);
	return none->name;
}

/* The kind of a field that has a hidden one before it, or 0. */
static uint8_t hiding_kind(const struct trail_reg_field *f)
{
	return f->kind == TRAIL_KIND_SEQUENCE  ? MD_SEQUENCE
	       : f->kind == TRAIL_KIND_VARIANT ? MD_VARIANT
					       : 0;
}

/*
 * Fills count fields from the table; those of structures too (app/parse.c has checked how deep).
 * False: no memory.
 */
static bool fill(const struct registration *r, const struct trail_reg_field *f,
		 struct md_field *fields, uint32_t count)
{
	uint32_t i, used = 0;

	for (i = 0; i < count; f += registration_extent(f), i++) {
		struct md_type *t = &fields[i].type;

		fields[i].name = field_name(fields, i, r->strings + f->name, hiding_kind(f));
		if (!fields[i].name)
			return false;
		if (f->kind == TRAIL_KIND_BITS) {
			bit_field(f, &used, t);
			continue;
		}
		used = 0;
		if (has_members(f) ? !members(r, f, t) : !type(r, f, t))
			return false;
	}
	return true;
}

struct md_event *registration_event(const struct registration *r, uint32_t event)
{
	const struct registration_event *from = &r->events[event];
	const struct trail_reg_field *fields = &r->fields[from->first_field];
	struct md_buf buffer = MD_BUF_INIT;
	struct md_event *e;
	uint32_t i, count = 0;

	for (i = 0; i < from->written; i += registration_extent(&fields[i]))
		count++;
	e = md_event_create(from->name, from->level, count);
	if (!e)
		return NULL;
	if (from->uri) {
		e->emf_uri = text(from->uri, &buffer);
		md_buf_deinit(&buffer);
		if (!e->emf_uri) {
			md_event_destroy(e);
			return NULL;
		}
	}
	if (!fill(r, fields, e->fields, count)) {
		md_event_destroy(e);
		return NULL;
	}
	return e;
}
