// SPDX-License-Identifier: MIT
/* The description of a compiled field. */
#include <float.h>
#include <limits.h>
#include <stdlib.h>

#include "ustlib/drop-in/drop_in.h"

struct memory {
	struct memory *next;
	uint64_t data[];
};

void *memory_alloc(struct memory **m, size_t count, size_t size)
{
	size_t bytes;
	struct memory *block;

	if (__builtin_mul_overflow(count, size, &bytes) ||
	    __builtin_add_overflow(bytes, sizeof(*block), &bytes))
		return NULL;
	block = calloc(1, bytes);
	if (!block)
		return NULL;
	block->next = *m;
	*m = block;
	return block->data;
}

void memory_free(struct memory **m)
{
	while (*m) {
		struct memory *block = *m;

		*m = block->next;
		free(block);
	}
}

/* 0: no integer that a field can have */
static unsigned int integer_code(const struct ust_type_common *type, unsigned int kind)
{
	const struct ust_integer *i = (const struct ust_integer *)type;

	if (!type || type->type != UST_INTEGER ||
	    (i->bits != 8 && i->bits != 16 && i->bits != 32 && i->bits != 64))
		return 0;
	return TRAIL__CODE_OF(kind,
			      (i->is_signed ? TRAIL__SIGNED : 0) |
				      (i->base == 16 ? TRAIL__HEX : 0) |
				      (i->swapped ? TRAIL__BIG_ENDIAN : 0),
			      i->bits / 8);
}

static unsigned int elements_code(const struct ust_type_common *element, int encoding,
				  unsigned int kind)
{
	unsigned int code = integer_code(element, kind);

	return encoding && TRAIL__SIZE(code) == 1 ? code | TRAIL__TEXT << 16 : code;
}

/* The integer code, with the enumeration's labels in *values. */
static unsigned int enum_code(const struct ust_enum *e, const struct trail__enum **values,
			      struct memory **m)
{
	const struct ust_enum_desc *desc = e->desc;
	struct trail__enum *out = memory_alloc(m, 1, sizeof(*out));
	struct trail__label *labels = memory_alloc(m, desc->count, sizeof(*labels));
	unsigned int code = integer_code(e->container, TRAIL__INT);

	if (!code || !out || !labels)
		return code;
	for (unsigned int i = 0; i < desc->count; i++) {
		const struct ust_enum_entry *entry = desc->entries[i];

		labels[i] = (struct trail__label){ entry->label, entry->begin.value,
						   entry->end.value, entry->options & 1 };
	}
	*out = (struct trail__enum){ desc->name, labels, desc->count };
	*values = out;
	return code | TRAIL__ENUM << 16;
}

bool field_describe(const struct ust_field *f, const struct ust_field *before,
		    struct trail__field *out, struct memory **m)
{
	const struct ust_type_common *type = f->type;
	unsigned int length = before ? integer_code(before->type, TRAIL__INT) : 0;

	*out = (struct trail__field){ .name = f->name };
	switch (type->type) {
	case UST_INTEGER:
		out->code = integer_code(type, TRAIL__INT);
		break;
	case UST_ENUM:
		out->code = enum_code((const struct ust_enum *)type, &out->values, m);
		break;
	case UST_FLOAT:
		out->code = TRAIL__CODE_OF(
			TRAIL__FLOAT, 0,
			((const struct ust_float *)type)->mantissa_bits == FLT_MANT_DIG ? 4 : 8);
		break;
	case UST_STRING:
		out->code = TRAIL__CODE_OF(TRAIL__STRING, 0, 0);
		break;
	case UST_ARRAY:
		out->code = elements_code(((const struct ust_array *)type)->element,
					  ((const struct ust_array *)type)->encoding,
					  TRAIL__ARRAY_OF);
		out->count = ((const struct ust_array *)type)->count;
		break;
	case UST_SEQUENCE:
		out->code = elements_code(((const struct ust_sequence *)type)->element,
					  ((const struct ust_sequence *)type)->encoding,
					  TRAIL__SEQUENCE_OF);
		if (!length)
			return false;
		out->code |= out->code ? TRAIL__SIZE(length) << 24 : 0;
		break;
	case UST_FIXED_BLOB:
		if (((const struct ust_fixed_blob *)type)->length > UINT_MAX)
			return false;
		out->code = TRAIL__CODE_OF(TRAIL__ARRAY_OF, TRAIL__BLOB | TRAIL__HEX, 1);
		out->values = (const void *)((const struct ust_fixed_blob *)type)->media_type;
		out->count = (unsigned int)((const struct ust_fixed_blob *)type)->length;
		break;
	case UST_VARIABLE_BLOB:
		if (!length)
			return false;
		out->code = TRAIL__CODE_OF(TRAIL__SEQUENCE_OF, TRAIL__BLOB | TRAIL__HEX, 1) |
			    TRAIL__SIZE(length) << 24;
		out->values = (const void *)((const struct ust_variable_blob *)type)->media_type;
		break;
	default:
		break;
	}
	if (f->nowrite && out->code)
		out->code |= TRAIL__NOWRITE << 16;
	return out->code;
}
