/* SPDX-License-Identifier: MIT */
/*
 * The pieces of text that run_steps.inc puts, written to a buffer: for the printers that write
 * (text.c, json.c). text_length.c has the same ones that only count. Private to metadata/.
 */
#ifndef METADATA_PUT_H
#define METADATA_PUT_H

#include "metadata/run.h"

typedef char *place;    /* where the next piece goes */

/* Most literals are shorter than a piece: one load and one store, no call. */
static inline place put_literal(place o, const char *s, size_t n)
{
	memcpy(o, s, MD_TEXT_SLACK);
	if (__builtin_expect(n > MD_TEXT_SLACK, 0))
		memcpy(o + MD_TEXT_SLACK, s + MD_TEXT_SLACK, n - MD_TEXT_SLACK);
	return o + n;
}

static inline place put_bytes(place o, const char *s, size_t n)
{
	memcpy(o, s, n);
	return o + n;
}

static inline place put_string(place o, const char *s)
{
	return put_bytes(o, s, strlen(s));
}

static inline place put_u8(place o, uint8_t v)
{
	return md_put_small(o, v);
}

static inline place put_u32(place o, uint32_t v)
{
	return md_put_u32(o, v);
}

static inline place put_s32(place o, int32_t v)
{
	return md_put_s32(o, v);
}

static inline place put_u64(place o, uint64_t v)
{
	return md_put_u64(o, v);
}

static inline place put_s64(place o, int64_t v)
{
	return md_put_s64(o, v);
}

/* Makes room for one more turn, for the remaining bytes, and for the text after the loop. */
static inline place more_room(struct run *r, place o)
{
	r->out->len = (size_t)(o - r->out->data);
	o = md_buf_room(r->out, r->base + r->per_byte * (size_t)(r->end - r->p));
	if (!o)
		r->torn = true;
	return o;
}

#endif
