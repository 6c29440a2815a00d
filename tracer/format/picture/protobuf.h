/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages of protobuf, written into a buffer. */
#ifndef TRACER_PICTURE_PROTOBUF_H
#define TRACER_PICTURE_PROTOBUF_H

#include <stdint.h>
#include <string.h>

#include "metadata/buf.h"

static inline char *write_varint(char *o, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*o++ = (char)(v | 0x80);
	*o++ = (char)v;
	return o;
}

static inline void put_number(struct md_buf *out, uint32_t field, uint64_t v)
{
	char *o = md_buf_room(out, 16);

	if (o)
		out->len = (size_t)(write_varint(write_varint(o, field << 3), v) - out->data);
}

/* Eight bytes, the lowest first */
static inline void put_fixed(struct md_buf *out, uint32_t field, uint64_t bits)
{
	char *o = md_buf_room(out, 16);

	if (!o)
		return;
	o = write_varint(o, field << 3 | 1);
	for (int i = 0; i < 8; i++)
		*o++ = (char)(uint8_t)(bits >> 8 * i);
	out->len = (size_t)(o - out->data);
}

static inline void put_double(struct md_buf *out, uint32_t field, double d)
{
	uint64_t bits;

	memcpy(&bits, &d, sizeof(bits));
	put_fixed(out, field, bits);
}

static inline void put_bytes(struct md_buf *out, uint32_t field, const char *p, size_t n)
{
	char *o = md_buf_room(out, 16 + n);

	if (!o)
		return;
	o = write_varint(write_varint(o, field << 3 | 2), n);
	out->len = (size_t)((char *)mempcpy(o, p, n) - out->data);
}

/*
 * Begins a message or a string whose length is not known yet: leaves `size` bytes for its length.
 * Returns the place of its contents, for end_message.
 */
static inline size_t begin_message(struct md_buf *out, uint32_t field, size_t size)
{
	char *o = md_buf_room(out, 16);

	if (o)
		out->len = (size_t)(write_varint(o, field << 3 | 2) - out->data) + size;
	return out->len;
}

/* A length that is shorter than its place gets bytes without value: protobuf allows them. */
static inline void end_message(struct md_buf *out, size_t at, size_t size)
{
	char length[10];
	size_t need, n = out->len - at;
	char *start;

	if (!md_buf_room(out, sizeof(length)))
		return;
	start = out->data + at - size;
	if (n >> 7 * size == 0) {
		for (; size > 1; size--, n >>= 7)
			*start++ = (char)(n | 0x80);
		*start = (char)n;
		return;
	}
	need = (size_t)(write_varint(length, n) - length);
	if (need != size)
		memmove(start + need, start + size, n);
	memcpy(start, length, need);
	out->len += need - size;
}

#endif
