/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes Parquet (parquet-format 2.9): flat columns whose values may be missing, one page for each
 * in a row group, encoding PLAIN, compressed with gzip. The metadata at the end are in Thrift's
 * compact protocol.
 *
 *	parquet.c       columns, row groups and the end of the file
 *	thrift.h        the compact protocol
 *
 * No lock: a writer belongs to its caller.
 */
#ifndef TRACER_FORMAT_PARQUET_H
#define TRACER_FORMAT_PARQUET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metadata/buf.h"

enum parquet_type {
	PARQUET_INT,            /* 64 bits, signed */
	PARQUET_UINT,           /* 64 bits */
	PARQUET_TIME,           /* us since the epoch */
	PARQUET_NS,             /* ns since the epoch, as an integer */
	PARQUET_FLOAT,          /* 32 bits */
	PARQUET_DOUBLE,
	PARQUET_TEXT,           /* UTF-8 */
};

struct parquet;

/* Appends to *out, which the caller may empty between two calls. NULL: no memory. */
struct parquet *parquet_create(struct md_buf *out);
void parquet_destroy(struct parquet *p);                /* NULL is allowed */
/* Before the first row. Returns its number, from 0; -ENOMEM. */
int parquet_add_column(struct parquet *p, const char *name, enum parquet_type type);
/* The value of the current row; at most one for a column. */
void parquet_put_number(struct parquet *p, uint32_t column, uint64_t number);
void parquet_put_float(struct parquet *p, uint32_t column, float number);
void parquet_put_double(struct parquet *p, uint32_t column, double number);
void parquet_put_text(struct parquet *p, uint32_t column, const char *s, size_t n);
void parquet_end_row(struct parquet *p);
/* Appends what is left, and the metadata. 0 or -ENOMEM, also of calls before. */
int parquet_end(struct parquet *p);

#endif
