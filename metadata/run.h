/* SPDX-License-Identifier: MIT */
/*
 * What the printers of a compiled program share (text.c, text_length.c, json.c): the state of a run
 * over one event, and its values. run_steps.inc has the run itself. Private to metadata/.
 */
#ifndef METADATA_RUN_H
#define METADATA_RUN_H

#include <string.h>

#include "metadata/buf.h"
#include "metadata/number.h"
#include "metadata/program.h"

struct run {
	const struct md_program *program;
	const uint8_t *p, *end, *limit;
	struct md_buf *out;
	size_t per_byte, base;  /* room for a turn of a careful loop, and for the text after it */
	uint8_t tag;            /* of the next variant */
	bool torn;              /* the bytes changed since they were decoded */
};

/* The step's integer, extended to 64 bits. */
static inline uint64_t load(const struct md_step *s, const uint8_t *p)
{
	uint64_t v = md_load_field(p, s->size, s->big_endian);
	unsigned int unused = 64 - 8u * s->size;

	return s->is_signed ? (uint64_t)((int64_t)(v << unused) >> unused) : v;
}

static inline uint64_t load_bits(const struct md_step *s, const uint8_t *p)
{
	return md_load_bits(p, s->count >> 8, s->count & 255, s->is_signed);
}

static inline bool is_in_range(const struct md_label *l, uint64_t v, bool is_signed)
{
	if (is_signed)
		return (int64_t)v >= l->begin && (int64_t)v <= l->end;
	return v >= (uint64_t)l->begin && v <= (uint64_t)l->end;
}

/* Whether one of the bits of a range of flags is set. */
static inline bool has_flag(const struct md_label *l, uint64_t v)
{
	uint64_t last = (uint64_t)l->end, all = UINT64_MAX >> (63 - (last & 63));

	return (v & all) >> (l->begin & 63) != 0;
}

/* Saturates: md_buf_room fails for an event whose text is too large. */
static inline size_t most_text(const struct md_program *program, size_t bytes)
{
	uint64_t n;

	if (__builtin_mul_overflow(program->text_per_byte, bytes, &n) ||
	    __builtin_add_overflow(program->text_base, n, &n))
		return SIZE_MAX / 4;
	return n;
}

#endif
