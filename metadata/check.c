/* SPDX-License-Identifier: MIT */
/*
 * Checks which types are supported. It rejects types that would crash or block a reader:
 * babeltrace2 aborts on an empty range, and rejects the whole trace for two members of one name;
 * with an element of size 0, a length of eight bytes would keep the decoder busy for years.
 */
#include <errno.h>

#include "metadata/name.h"
#include "metadata/program.h"

static int check_type(const struct md_type *t, unsigned int depth);

/* The minimal size in bytes, at most MD_FIXED_MAX + 1. Only for types that passed check_type. */
static uint64_t least_size(const struct md_type *t)
{
	uint64_t sum = 0, option;
	uint32_t i;

	switch (t->kind) {
	case MD_INT: case MD_ENUM: case MD_FLOAT:
		return t->size;
	case MD_STRING:
		return 1;
	case MD_SEQUENCE:
		return t->length_size;
	case MD_ARRAY:
		sum = least_size(t->element) * t->count;     /* < 2^31 * 2^32 */
		break;
	case MD_STRUCT:
		for (i = 0; i < t->count; i++)
			sum += least_size(&t->members[i].type);
		break;
	case MD_VARIANT:
		for (i = 0; i < t->count; i++) {
			option = least_size(&t->members[i].type);
			sum = !i || option < sum ? option : sum;
		}
		sum += 1;
		break;
	}
	return sum <= MD_FIXED_MAX ? sum : MD_FIXED_MAX + 1;
}

static bool is_int_size(uint8_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static int check_int(const struct md_type *t)
{
	bool base_known =
		t->base == 0 || t->base == 10 || t->base == 16 || t->base == 8 || t->base == 2;

	if (t->bits)
		return t->kind == MD_INT && base_known && !t->big_endian ? 0 : -EINVAL;
	return is_int_size(t->size) && base_known ? 0 : -EINVAL;
}

static int check_enum(const struct md_type *t)
{
	bool flags = t->show == MD_SHOW_FLAGS;
	uint32_t i;

	if ((t->count && !t->mappings) || (flags && t->is_signed))
		return -EINVAL;
	for (i = 0; i < t->count; i++) {
		const struct md_mapping *m = &t->mappings[i];

		if (!m->name)
			return -EINVAL;
		if (t->is_signed ? m->begin > m->end : (uint64_t)m->begin > (uint64_t)m->end)
			return -EINVAL;
		if (flags && (uint64_t)m->end > 63)
			return -EINVAL;
	}
	return check_int(t);
}

/* A missing value is an empty structure, and the other option is the value. */
static bool is_optional(const struct md_type *t)
{
	return t->kind == MD_VARIANT && t->count == 2 && t->members &&
	       t->members[0].type.kind == MD_STRUCT && !t->members[0].type.count;
}

/* What is shown in another way is of the type that this needs. */
static bool can_show(const struct md_type *t)
{
	const struct md_type *byte = t->show == MD_SHOW_BOOL ? t : t->element;

	if ((t->optional && !is_optional(t)) || t->shown_bits > 64 ||
	    (t->quiet && t->kind != MD_SEQUENCE && t->kind != MD_VARIANT))
		return false;
	switch (t->show) {
	case MD_SHOW_PLAIN:
		return true;
	case MD_SHOW_FLAGS:
		return t->kind == MD_ENUM;
	case MD_SHOW_BRACES:
		return t->kind == MD_VARIANT && t->optional;
	case MD_SHOW_BOOL:
		break;
	case MD_SHOW_BLOB:
		if (t->kind == MD_ARRAY || t->kind == MD_SEQUENCE)
			break;
		return false;
	default:
		return false;
	}
	return byte && byte->kind == MD_INT && byte->size == 1 && !byte->bits;
}

static int check_element(const struct md_type *t, unsigned int depth)
{
	int ret;

	/*
	 * The length of a sequence and the tag of a variant are members of a structure; an element
	 * has no place for them.
	 */
	if (!t || (!t->quiet && (t->kind == MD_SEQUENCE || t->kind == MD_VARIANT)))
		return -EINVAL;
	ret = t->bits ? -EINVAL : check_type(t, depth);
	if (ret)
		return ret;
	return least_size(t) ? 0 : -EINVAL;
}

static int check_variant(const struct md_type *t, unsigned int depth)
{
	uint32_t i;
	int ret;

	if (!t->count || t->count > MD_OPTION_MAX || !t->members)
		return -EINVAL;
	for (i = 0; i < t->count; i++) {
		const struct md_type *option = &t->members[i].type;

		/*
		 * As in check_element, there is no place for a length or another tag; but an option
		 * may have size 0.
		 */
		if (!t->members[i].name || option->bits ||
		    (!option->quiet &&
		     (option->kind == MD_SEQUENCE || option->kind == MD_VARIANT)))
			return -EINVAL;
		ret = check_type(option, depth);
		if (ret)
			return ret;
		if (least_size(option) > MD_FIXED_MAX)
			return -EINVAL;
	}
	return md_name_check(t->members, t->count);
}

static int check_type(const struct md_type *t, unsigned int depth)
{
	int ret;

	if (depth > MD_DEPTH_MAX || !can_show(t))
		return -EINVAL;
	switch (t->kind) {
	case MD_INT:
		return check_int(t);
	case MD_FLOAT:
		return t->size == 4 || t->size == 8 ? 0 : -EINVAL;
	case MD_STRING:
		return 0;
	case MD_ENUM:
		return check_enum(t);
	case MD_ARRAY:
		ret = check_element(t->element, depth + 1);
		if (ret)
			return ret;
		return least_size(t) <= MD_FIXED_MAX ? 0 : -EINVAL;
	case MD_SEQUENCE:
		if (!is_int_size(t->length_size))
			return -EINVAL;
		return check_element(t->element, depth + 1);
	case MD_STRUCT:
		if (t->count && !t->members)
			return -EINVAL;
		return md_type_check_fields(t->members, t->count, depth + 1);
	case MD_VARIANT:
		return check_variant(t, depth + 1);
	default:
		return -EINVAL;
	}
}

/* Whether a bit field begins where those before it end; *used are the bits of the last byte. */
static bool is_placed(const struct md_type *t, unsigned int *used)
{
	unsigned int begin = t->shift ? *used : 0, end = begin + t->bits;

	*used = t->bits ? end % 8 : 0;
	return !t->bits || (t->shift == begin && end <= 64 &&
			    t->size == (end + 7) / 8 - (begin != 0));
}

int md_type_check_fields(const struct md_field *fields, uint32_t count, unsigned int depth)
{
	unsigned int used = 0;
	uint64_t sum = 0;
	uint32_t i;
	int ret;

	for (i = 0; i < count; i++) {
		if (!fields[i].name || !is_placed(&fields[i].type, &used))
			return -EINVAL;
		ret = check_type(&fields[i].type, depth);
		if (ret)
			return ret;
		sum += least_size(&fields[i].type);
		if (sum > MD_FIXED_MAX)
			return -EINVAL;
	}
	return md_name_check(fields, count);
}
