/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/parquet/parquet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tracer/base/array.h"
#include "tracer/format/parquet/thrift.h"

#define ROWS (64u << 10)        /* of a row group, at most */
#define BYTES (8u << 20)        /* of its values, about */
#define LEVELS (ROWS / 8)

/* Numbers of parquet.thrift */
enum { TYPE_INT64 = 2, TYPE_FLOAT = 4, TYPE_DOUBLE = 5, TYPE_BYTE_ARRAY = 6 };
enum { CONVERTED_UTF8 = 0, CONVERTED_TIMESTAMP_MICROS = 10, CONVERTED_UINT_64 = 14 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, OPTIONAL = 1, DATA_PAGE = 0 };
#ifdef WITHOUT_COMPRESSION
enum { CODEC = 0 };
#else
enum { CODEC = 2 };     /* gzip */
#endif

struct column {
	char *name;             /* owned */
	enum parquet_type type;
	struct md_buf values;   /* of this row group */
	uint8_t *present;       /* a bit for each row; owned */
	uint64_t min, max;      /* of a time */
	bool any;               /* there is a value */
};

struct parquet {
	struct md_buf *out;
	struct column *columns; /* owned */
	uint32_t count;
	uint32_t rows;          /* of this row group */
	uint64_t offset;        /* bytes of the file so far */
	uint64_t all_rows;
	size_t bytes;           /* of values of this row group */
	struct md_buf groups;   /* the metadata of the row groups, as Thrift */
	uint64_t group_count;
	struct md_buf page;     /* scratch */
	bool failed;            /* no memory */
};

static void append(struct parquet *p, const void *bytes, size_t n)
{
	md_buf_put(p->out, bytes, n);
	p->offset += n;
}

struct parquet *parquet_create(struct md_buf *out)
{
	struct parquet *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->out = out;
	append(p, "PAR1", 4);
	return p;
}

void parquet_destroy(struct parquet *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->count; i++) {
		free(p->columns[i].name);
		free(p->columns[i].present);
		md_buf_deinit(&p->columns[i].values);
	}
	free(p->columns);
	md_buf_deinit(&p->groups);
	md_buf_deinit(&p->page);
	free(p);
}

int parquet_add_column(struct parquet *p, const char *name, enum parquet_type type)
{
	struct column *c;

	if (!array_double(p->columns, p->count))
		return -ENOMEM;
	c = &p->columns[p->count];
	*c = (struct column){ .name = strdup(name), .type = type, .present = calloc(1, LEVELS) };
	if (!c->name || !c->present) {
		free(c->name);
		free(c->present);
		return -ENOMEM;
	}
	return (int)p->count++;
}

/* ---- values ---- */

static struct md_buf *begin_value(struct parquet *p, struct column *c, size_t n)
{
	c->present[p->rows / 8] |= (uint8_t)(1 << p->rows % 8);
	p->bytes += n;
	return &c->values;
}

static void put_little(struct md_buf *out, uint64_t n, size_t bytes)
{
	uint8_t little[8];

	for (size_t i = 0; i < bytes; i++)
		little[i] = (uint8_t)(n >> 8 * i);
	md_buf_put(out, little, bytes);
}

void parquet_put_number(struct parquet *p, uint32_t column, uint64_t number)
{
	struct column *c = &p->columns[column];

	put_little(begin_value(p, c, 8), number, 8);
	c->min = c->any && c->min < number ? c->min : number;
	c->max = c->any && c->max > number ? c->max : number;
	c->any = true;
}

void parquet_put_float(struct parquet *p, uint32_t column, float number)
{
	uint32_t bits;

	memcpy(&bits, &number, sizeof(bits));
	put_little(begin_value(p, &p->columns[column], 4), bits, 4);
}

void parquet_put_double(struct parquet *p, uint32_t column, double number)
{
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	put_little(begin_value(p, &p->columns[column], 8), bits, 8);
}

void parquet_put_text(struct parquet *p, uint32_t column, const char *s, size_t n)
{
	struct md_buf *out = begin_value(p, &p->columns[column], n + 4);

	put_little(out, n, 4);
	md_buf_put(out, s, n);
}

/* ---- row groups ---- */

/* The levels of definition (RLE, bit-packed groups of 8), then the values. */
static void make_page(struct parquet *p, const struct column *c)
{
	uint32_t groups = (p->rows + 7) / 8;
	struct md_buf levels = MD_BUF_INIT;

	thrift_varint(&levels, (uint64_t)groups << 1 | 1);
	md_buf_put(&levels, c->present, groups);
	md_buf_reset(&p->page);
	put_little(&p->page, levels.len, 4);
	md_buf_put(&p->page, levels.data, levels.len);
	md_buf_put(&p->page, c->values.data, c->values.len);
	p->failed |= levels.failed || p->page.failed || c->values.failed;
	md_buf_deinit(&levels);
}

#ifdef WITHOUT_COMPRESSION
static bool compress_page(struct parquet *p, struct md_buf *out)
{
	md_buf_put(out, p->page.data, p->page.len);
	return !out->failed;
}
#else
/* Compresses the page as gzip. False: no memory. */
static bool compress_page(struct parquet *p, struct md_buf *out)
{
	z_stream z = { .next_in = (Bytef *)p->page.data, .avail_in = (uInt)p->page.len };
	char *room;
	int ret;

	if (deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, 16 + MAX_WBITS, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return false;
	z.avail_out = (uInt)deflateBound(&z, p->page.len);
	room = md_buf_room(out, z.avail_out);
	z.next_out = (Bytef *)room;
	ret = room ? deflate(&z, Z_FINISH) : Z_MEM_ERROR;
	out->len += ret == Z_STREAM_END ? z.total_out : 0;
	deflateEnd(&z);
	return ret == Z_STREAM_END;
}
#endif

static void put_page_header(struct parquet *p, size_t compressed, struct md_buf *out)
{
	int last = 0, inner = 0;

	thrift_int(out, &last, 1, THRIFT_I32, DATA_PAGE);
	thrift_int(out, &last, 2, THRIFT_I32, (int64_t)p->page.len);
	thrift_int(out, &last, 3, THRIFT_I32, (int64_t)compressed);
	thrift_field(out, &last, 5, THRIFT_STRUCT);
	thrift_int(out, &inner, 1, THRIFT_I32, p->rows);
	thrift_int(out, &inner, 2, THRIFT_I32, ENCODING_PLAIN);
	thrift_int(out, &inner, 3, THRIFT_I32, ENCODING_RLE);
	thrift_int(out, &inner, 4, THRIFT_I32, ENCODING_RLE);
	thrift_end(out);
	thrift_end(out);
}

static int physical_type(enum parquet_type type)
{
	return type == PARQUET_FLOAT    ? TYPE_FLOAT
	       : type == PARQUET_DOUBLE ? TYPE_DOUBLE
	       : type == PARQUET_TEXT   ? TYPE_BYTE_ARRAY
					: TYPE_INT64;
}

/* Readers skip row groups whose times are others. */
static void put_statistics(const struct column *c, int *last, struct md_buf *out)
{
	int inner = 0;

	if ((c->type != PARQUET_TIME && c->type != PARQUET_NS) || !c->any)
		return;
	thrift_field(out, last, 12, THRIFT_STRUCT);
	thrift_field(out, &inner, 5, THRIFT_BINARY);
	thrift_varint(out, 8);
	put_little(out, c->max, 8);
	thrift_field(out, &inner, 6, THRIFT_BINARY);
	thrift_varint(out, 8);
	put_little(out, c->min, 8);
	thrift_end(out);
}

/* ColumnChunk: the page, with its header of `header` bytes, is at `at`. */
static void describe_column(struct parquet *p, const struct column *c, uint64_t at, size_t header,
			    size_t compressed)
{
	struct md_buf *out = &p->groups;
	int last = 0, inner = 0;

	thrift_int(out, &last, 2, THRIFT_I64, (int64_t)at);
	thrift_field(out, &last, 3, THRIFT_STRUCT);
	thrift_int(out, &inner, 1, THRIFT_I32, physical_type(c->type));
	thrift_list(out, &inner, 2, THRIFT_I32, 2);
	thrift_zigzag(out, ENCODING_PLAIN);
	thrift_zigzag(out, ENCODING_RLE);
	thrift_list(out, &inner, 3, THRIFT_BINARY, 1);
	thrift_bytes(out, c->name, strlen(c->name));
	thrift_int(out, &inner, 4, THRIFT_I32, CODEC);
	thrift_int(out, &inner, 5, THRIFT_I64, p->rows);
	thrift_int(out, &inner, 6, THRIFT_I64, (int64_t)(header + p->page.len));
	thrift_int(out, &inner, 7, THRIFT_I64, (int64_t)(header + compressed));
	thrift_int(out, &inner, 9, THRIFT_I64, (int64_t)at);
	put_statistics(c, &inner, out);
	thrift_end(out);
	thrift_end(out);
}

/* Writes the page of a column. Returns its bytes before they were compressed. */
static size_t write_column(struct parquet *p, struct column *c)
{
	struct md_buf packed = MD_BUF_INIT, header = MD_BUF_INIT;
	uint64_t at = p->offset;
	size_t all;

	make_page(p, c);
	if (p->failed || !compress_page(p, &packed)) {
		p->failed = true;
		md_buf_deinit(&packed);
		return 0;
	}
	put_page_header(p, packed.len, &header);
	append(p, header.data, header.len);
	append(p, packed.data, packed.len);
	describe_column(p, c, at, header.len, packed.len);
	all = header.len + p->page.len;
	p->failed |= header.failed;
	md_buf_deinit(&packed);
	md_buf_deinit(&header);
	md_buf_reset(&c->values);
	memset(c->present, 0, LEVELS);
	c->any = false;
	return all;
}

static void end_group(struct parquet *p)
{
	int last = 0;
	size_t all = 0;

	if (!p->rows || p->failed)
		return;
	thrift_list(&p->groups, &last, 1, THRIFT_STRUCT, p->count);
	for (uint32_t i = 0; i < p->count; i++)
		all += write_column(p, &p->columns[i]);
	thrift_int(&p->groups, &last, 2, THRIFT_I64, (int64_t)all);
	thrift_int(&p->groups, &last, 3, THRIFT_I64, p->rows);
	thrift_end(&p->groups);
	p->group_count++;
	p->all_rows += p->rows;
	p->rows = 0;
	p->bytes = 0;
}

void parquet_end_row(struct parquet *p)
{
	p->rows++;
	if (p->rows == ROWS || p->bytes >= BYTES)
		end_group(p);
}

/* ---- the end of the file ---- */

static void describe_type(const struct column *c, struct md_buf *out)
{
	int last = 0, logical = 0, inner = 0, unit = 0;

	thrift_int(out, &last, 1, THRIFT_I32, physical_type(c->type));
	thrift_int(out, &last, 3, THRIFT_I32, OPTIONAL);
	thrift_binary(out, &last, 4, c->name, strlen(c->name));
	if (c->type == PARQUET_TEXT)
		thrift_int(out, &last, 6, THRIFT_I32, CONVERTED_UTF8);
	if (c->type == PARQUET_UINT)
		thrift_int(out, &last, 6, THRIFT_I32, CONVERTED_UINT_64);
	if (c->type == PARQUET_TIME) {
		/* LogicalType.TIMESTAMP, of UTC, in MICROS */
		thrift_int(out, &last, 6, THRIFT_I32, CONVERTED_TIMESTAMP_MICROS);
		thrift_field(out, &last, 10, THRIFT_STRUCT);
		thrift_field(out, &logical, 8, THRIFT_STRUCT);
		thrift_field(out, &inner, 1, THRIFT_TRUE);
		thrift_field(out, &inner, 2, THRIFT_STRUCT);
		thrift_field(out, &unit, 2, THRIFT_STRUCT);
		thrift_end(out);
		thrift_end(out);
		thrift_end(out);
		thrift_end(out);
	}
	thrift_end(out);
}

static void put_schema(const struct parquet *p, struct md_buf *out)
{
	int last = 0;

	thrift_binary(out, &last, 4, "events", 6);
	thrift_int(out, &last, 5, THRIFT_I32, p->count);
	thrift_end(out);
	for (uint32_t i = 0; i < p->count; i++)
		describe_type(&p->columns[i], out);
}

int parquet_end(struct parquet *p)
{
	static const char by[] = "trailfs";
	struct md_buf meta = MD_BUF_INIT;
	int last = 0;

	end_group(p);
	thrift_int(&meta, &last, 1, THRIFT_I32, 1);
	thrift_list(&meta, &last, 2, THRIFT_STRUCT, p->count + (size_t)1);
	put_schema(p, &meta);
	thrift_int(&meta, &last, 3, THRIFT_I64, (int64_t)p->all_rows);
	thrift_list(&meta, &last, 4, THRIFT_STRUCT, p->group_count);
	md_buf_put(&meta, p->groups.data, p->groups.len);
	thrift_binary(&meta, &last, 6, by, sizeof(by) - 1);
	thrift_end(&meta);
	put_little(&meta, meta.len, 4);
	md_buf_puts(&meta, "PAR1");
	append(p, meta.data, meta.len);
	p->failed |= meta.failed || p->groups.failed;
	md_buf_deinit(&meta);
	return p->failed || p->out->failed ? -ENOMEM : 0;
}
