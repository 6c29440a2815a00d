/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The types of fields, from their declarations in a format file. */
#include <stdlib.h>
#include <string.h>

#include "tracer/kernel/kevent/kevent.h"
#include "tracer/kernel/kevent/lttng_names.h"
#include "tracer/base/probe/format_line.h"
#include "tracer/kernel/kevent/syscall_struct.h"

static bool is_int_size(uint64_t n)
{
	return n == 1 || n == 2 || n == 4 || n == 8;
}

static bool is_char(struct span type)
{
	return span_is(type, "char") || span_is(type, "const char");
}

static const struct kname_integer *find_integer(struct span type)
{
	char text[64];

	if (span_length(type) >= sizeof(text))
		return NULL;
	memcpy(text, type.p, span_length(type));
	text[span_length(type)] = '\0';
	return kname_integer(text);
}

static bool is_pointer(struct span type)
{
	return memchr(type.p, '*', span_length(type)) != NULL;
}

/* A type that is not known: bytes. */
static void set_bytes(struct kformat_field *f, uint64_t count)
{
	f->kind = f->place == KFORMAT_FIXED ? KFORMAT_ARRAY : KFORMAT_SEQUENCE;
	f->from = f->to = 1;
	f->hex = true;
	f->is_signed = false;
	f->count = (uint32_t)count;
}

/* The elements of a sequence; only the type gives their size. */
static void set_sequence(struct kformat_field *f, struct span type, bool is_signed)
{
	const struct kname_integer *i = find_integer(type);
	uint8_t size = is_pointer(type) ? sizeof(void *) : i ? i->size : 1;

	f->from = f->to = size;
	f->kind = KFORMAT_SEQUENCE;
	f->is_signed = size > 1 && is_signed;
	f->hex = size == 1 || is_pointer(type) || span_is(type, "cpumask_t");
	f->big_endian = span_length(type) > 4 && !memcmp(type.p, "__be", 4);
}

/* __data_loc T[] NAME: `unsigned long` is a bitmap, shown in hexadecimal. */
static void set_dynamic(struct kformat_field *f, struct format_line *l)
{
	struct span type = l->type;

	span_trim(&type);
	if (span_length(type) >= 2 && type.end[-1] == ']') {
		while (type.end > type.p && *--type.end != '[')
			;
		span_trim(&type);
	}
	if (is_char(type)) {
		f->kind = KFORMAT_STRING;
		f->count = UINT16_MAX;
		return;
	}
	set_sequence(f, type, l->is_signed);
	f->text = span_is(type, "bytes");
	if (span_is(type, "unsigned long"))
		f->hex = true;
}

static void set_array(struct kformat_field *f, const struct format_line *l)
{
	const struct kname_integer *i = find_integer(l->type);
	size_t name = span_length(l->name);
	uint64_t count, element;

	if (is_char(l->type)) {
		f->count = (uint32_t)l->size;
		f->kind = KFORMAT_STRING;
		if (l->size == 16 && name >= 4 && !memcmp(l->name.end - 4, "comm", 4))
			f->kind = KFORMAT_TEXT;
		return;
	}
	element = is_pointer(l->type) ? sizeof(void *) : i ? i->size : 0;
	/* The count may be the name of a macro. */
	if (span_number(l->index, &count) && count && l->size % count == 0 &&
	    is_int_size(l->size / count))
		element = l->size / count;
	if (!is_int_size(element) || l->size % element) {
		set_bytes(f, l->size);
		return;
	}
	f->kind = KFORMAT_ARRAY;
	f->from = f->to = (uint8_t)element;
	f->count = (uint32_t)(l->size / element);
	f->is_signed = l->is_signed;
	/* Addresses and the like are hexadecimal; four bytes are an IPv4 address. */
	f->hex = is_pointer(l->type) || (element == 1 && f->count != 4);
}

static void set_plain(struct kformat_field *f, const struct format_line *l)
{
	bool pointer = is_pointer(l->type);
	struct span type = l->type;
	bool structure = !pointer && (span_skip(&type, "struct ") || span_skip(&type, "union "));

	if (!is_int_size(l->size) || structure) {
		set_bytes(f, l->size);
		return;
	}
	f->kind = KFORMAT_INT;
	f->from = f->to = (uint8_t)l->size;
	f->is_signed = l->is_signed && !pointer;
	f->extend = l->is_signed;
	f->hex = pointer;
	f->big_endian = span_length(type) > 4 && !memcmp(type.p, "__be", 4);
}

/* An address that readers expect to be a string. */
static void set_address(struct kformat_field *f, const char *call, const struct format_line *l)
{
	char *type = span_copy(l->type), *name = span_copy(l->name);

	if (type && name && f->size == sizeof(uint64_t) && syscall_takes_string(call, type, name))
		f->kind = KFORMAT_ADDRESS;
	free(type);
	free(name);
}

/* A system call's argument is a whole register; its type is the low part. */
void kfield_set_argument(struct kformat_field *f, const char *event, const struct format_line *l)
{
	const struct kname_integer *i = find_integer(l->type);
	static const char enter[] = "sys_enter_";

	if (f->kind == KFORMAT_INT && f->hex && !strncmp(event, enter, strlen(enter)))
		set_address(f, event + strlen(enter), l);
	if (f->kind != KFORMAT_INT || f->hex || !i)
		return;
	if (i->size < f->to)
		f->to = i->size;
	f->is_signed = i->is_signed;
}

void kfield_set_type(struct kformat_field *f, struct format_line *l)
{
	struct span type = l->type;

	if (span_skip(&l->type, "__captured ")) {
		if (l->size != 4 || !kstruct_set(f, l->type.p, span_length(l->type)))
			l->size = 0;    /* unknown: no field */
	} else if (span_skip(&l->type, "__data_loc ") || span_skip(&l->type, "__rel_loc ")) {
		f->place = *type.p == '_' && type.p[2] == 'd' ? KFORMAT_LOC : KFORMAT_REL_LOC;
		if (l->size == 4)
			set_dynamic(f, l);
		else
			l->size = 0;    /* unknown: no field */
	} else if (l->indexed && !l->size) {
		f->place = KFORMAT_REST;
		set_dynamic(f, l);
	} else if (l->indexed) {
		set_array(f, l);
	} else {
		set_plain(f, l);
	}
}

/* Applies the type of the table. KNAME_S8 … KNAME_N32 are for integers and their elements. */
void kfield_change_type(struct kformat_field *f, unsigned int t)
{
	static const uint8_t sizes[] = {
		[KNAME_S8] = 1, [KNAME_S16] = 2, [KNAME_S32] = 4, [KNAME_S64] = 8,
		[KNAME_U8] = 1, [KNAME_U16] = 2, [KNAME_U32] = 4, [KNAME_U64] = 8,
		[KNAME_X8] = 1, [KNAME_X16] = 2, [KNAME_X32] = 4, [KNAME_X64] = 8,
		[KNAME_N16] = 2, [KNAME_N32] = 4,
	};
	bool fixed = f->place == KFORMAT_FIXED;

	if (t >= KNAME_S8 && t <= KNAME_N32) {
		if (f->kind != KFORMAT_INT && f->kind != KFORMAT_ARRAY &&
		    f->kind != KFORMAT_SEQUENCE)
			return;
		f->to = f->kind == KFORMAT_INT ? sizes[t] : f->to;
		f->is_signed = t <= KNAME_S64;
		f->hex = t >= KNAME_X8 && t <= KNAME_X64;
		f->big_endian = t >= KNAME_N16 && f->to == f->from;
	} else if (f->kind == KFORMAT_STRING && f->place != KFORMAT_REST && t == KNAME_TEXT) {
		f->kind = KFORMAT_TEXT;
		f->count = fixed ? f->count : 16;
	} else if (f->kind == KFORMAT_TEXT && t == KNAME_STRING) {
		f->kind = KFORMAT_STRING;
	} else if (f->kind == KFORMAT_STRING && fixed && t == KNAME_RWBS) {
		f->kind = KFORMAT_RWBS;
	} else if (f->kind == KFORMAT_ARRAY && t == KNAME_REST) {
		f->kind = KFORMAT_SEQUENCE;
		f->place = KFORMAT_REST;
		f->size = 0;
		f->hex = true;
	}
}
