/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Thrift's compact protocol, as far as Parquet's metadata need it. `last` is the number of the
 * field before in the same structure; 0 at its beginning.
 */
#ifndef TRACER_PARQUET_THRIFT_H
#define TRACER_PARQUET_THRIFT_H

#include <stdint.h>
#include <string.h>

#include "metadata/buf.h"

enum thrift_type { THRIFT_TRUE = 1, THRIFT_I32 = 5, THRIFT_I64 = 6, THRIFT_BINARY = 8,
		   THRIFT_LIST = 9, THRIFT_STRUCT = 12 };

static inline void thrift_varint(struct md_buf *out, uint64_t n)
{
	for (; n >= 0x80; n >>= 7)
		md_buf_putc(out, (char)(n | 0x80));
	md_buf_putc(out, (char)n);
}

static inline void thrift_zigzag(struct md_buf *out, int64_t n)
{
	thrift_varint(out, (uint64_t)n << 1 ^ (uint64_t)(n >> 63));
}

/* Numbers of fields grow by at most 15 from one to the next. */
static inline void thrift_field(struct md_buf *out, int *last, int field, enum thrift_type type)
{
	md_buf_putc(out, (char)((field - *last) << 4 | type));
	*last = field;
}

static inline void thrift_int(struct md_buf *out, int *last, int field, enum thrift_type type,
			      int64_t n)
{
	thrift_field(out, last, field, type);
	thrift_zigzag(out, n);
}

static inline void thrift_bytes(struct md_buf *out, const void *s, size_t n)
{
	thrift_varint(out, n);
	md_buf_put(out, s, n);
}

static inline void thrift_binary(struct md_buf *out, int *last, int field, const void *s, size_t n)
{
	thrift_field(out, last, field, THRIFT_BINARY);
	thrift_bytes(out, s, n);
}

static inline void thrift_list(struct md_buf *out, int *last, int field, enum thrift_type type,
			       size_t count)
{
	thrift_field(out, last, field, THRIFT_LIST);
	if (count < 15) {
		md_buf_putc(out, (char)(count << 4 | type));
	} else {
		md_buf_putc(out, (char)(0xf0 | type));
		thrift_varint(out, count);
	}
}

static inline void thrift_end(struct md_buf *out)
{
	md_buf_putc(out, 0);
}

#endif
