/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The places of fields in a payload: filter_locate in filter/tree.h. */
#include "metadata/model.h"
#include "tracer/base/filter/tree.h"

struct trail_reg_field filter_field_of(const struct md_type *t, uint32_t name)
{
	static const uint8_t kinds[] = {
		[MD_INT] = TRAIL_KIND_INT, [MD_ENUM] = TRAIL_KIND_INT,
		[MD_FLOAT] = TRAIL_KIND_FLOAT, [MD_STRING] = TRAIL_KIND_STRING,
		[MD_ARRAY] = TRAIL_KIND_ARRAY, [MD_SEQUENCE] = TRAIL_KIND_SEQUENCE,
		[MD_VARIANT] = 0,
	};
	const struct md_type *number = t->element ? t->element : t;
	struct trail_reg_field f = { .name = name, .kind = kinds[t->kind], .size = number->size,
				     .length = t->length_size };

	if (t->kind == MD_ARRAY)
		f.count = t->count;
	if (t->element && number->encoding == MD_ENCODING_UTF8) {
		f.flags = TRAIL_FIELD_TEXT;
		return f;
	}
	f.flags = (uint8_t)((number->is_signed ? TRAIL_FIELD_SIGNED : 0) |
			    (number->big_endian ? TRAIL_FIELD_BIG_ENDIAN : 0));
	if (t->element && number->kind == MD_FLOAT)
		f.flags |= TRAIL_FIELD_FLOAT;
	return f;
}

/* Tables of version 1 have no size of the length. */
static uint32_t length_size(const struct trail_reg_field *f)
{
	return f->kind != TRAIL_KIND_SEQUENCE ? 0 : f->length ? f->length : 4;
}

static bool is_sound(const struct trail_reg_field *f, bool record)
{
	uint32_t length = length_size(f);

	switch (f->kind) {
	case TRAIL_KIND_STRING:
	case TRAIL_KIND_STRUCT:
		return true;
	case TRAIL_KIND_FLOAT:
		return f->size == 4 || f->size == 8;
	case TRAIL_KIND_INT:
		return filter_is_size(f->size);
	case TRAIL_KIND_VARIANT:
		return !record && f->count;
	case TRAIL_KIND_BITS:
		return !record && f->size && f->size <= 64;
	case TRAIL_KIND_ARRAY:
	case TRAIL_KIND_SEQUENCE:
		return filter_is_size(f->size) &&
		       (!(f->flags & TRAIL_FIELD_TEXT) || f->size == 1) &&
		       (f->kind == TRAIL_KIND_ARRAY || filter_is_size(length) ||
			(record && filter_is_located(length)));
	default:
		return false;
	}
}

/* Where the bit field f begins in its byte, after one that took the first *used bits of a byte */
static uint32_t begin_bits(const struct trail_reg_field *f, uint32_t *used)
{
	uint32_t begin = trail_bits_begin(*used, f->size);

	*used = (begin + f->size) % 8;
	return begin;
}

uint32_t filter_field_bit(const struct filter_event *e, const struct trail_reg_field *field)
{
	const struct trail_reg_field *f = field;
	uint32_t used = 0;

	while (f > e->fields && f[-1].kind == TRAIL_KIND_BITS)
		f--;
	for (; f < field; f++)
		begin_bits(f, &used);
	return begin_bits(field, &used);
}

const struct trail_reg_field *filter_variant(const struct filter_event *e,
					     const struct trail_reg_field *field)
{
	const struct trail_reg_field *f;

	for (f = e->fields; f < field; f++)
		if (f->kind == TRAIL_KIND_VARIANT && (size_t)(field - f) <= f->count)
			return f;
	return NULL;
}

bool filter_locate(const struct filter_event *e, uint32_t i, uint32_t *anchor, uint32_t *at)
{
	uint64_t from = 0;
	uint32_t k;

	*anchor = 0;
	if (e->places) {
		*at = e->places[i];
		return is_sound(&e->fields[i], true);
	}
	for (k = 0; k < i; k++) {
		const struct trail_reg_field *f = &e->fields[k];

		if (!is_sound(f, false))
			return false;
		/* An option is after the tag. */
		if (f->kind == TRAIL_KIND_VARIANT && i - k <= f->count) {
			from++;
			break;
		}
		if (f->kind == TRAIL_KIND_VARIANT)
			k += f->count;
		if (f->kind == TRAIL_KIND_STRING || f->kind == TRAIL_KIND_SEQUENCE ||
		    f->kind == TRAIL_KIND_VARIANT) {
			from = 0;
			if (++*anchor > TRAIL_EVENT_FIELDS_MAX)
				return false;
		} else if (f->kind == TRAIL_KIND_BITS) {
			from += trail_bits_bytes(filter_field_bit(e, f), f->size);
		} else if (f->kind != TRAIL_KIND_STRUCT) {
			from += f->kind == TRAIL_KIND_ARRAY ? (uint64_t)f->count * f->size
							    : f->size;
			/* So that the last element has a valid place, too. */
			if (from > INT32_MAX)
				return false;
		}
	}
	*at = (uint32_t)from;
	if (e->fields[i].kind == TRAIL_KIND_BITS)
		*at -= filter_field_bit(e, &e->fields[i]) != 0;
	return is_sound(&e->fields[i], false);
}

uint32_t filter_field_place(const struct trail_reg_field *f, uint32_t anchor)
{
	uint32_t size = f->kind == TRAIL_KIND_STRING ? 0 : f->size;

	return FILTER_PLACE(
		size, f->flags & (TRAIL_FIELD_SIGNED | TRAIL_FIELD_BIG_ENDIAN | TRAIL_FIELD_FLOAT),
		anchor, length_size(f));
}
