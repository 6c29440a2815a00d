/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of a map are printed with: put.c. Private to map/. */
#ifndef TRACER_MAP_PUT_H
#define TRACER_MAP_PUT_H

#include "metadata/buf.h"
#include "tracer/view/map/map.h"

/* A number of events: an integer, or a floating point number of one size. */
struct map_shown {
	long double v;
	bool real, single;
};

bool map_op_is_histogram(const struct map_op *op);
/* A number of an operator. What was computed from several has the digits of a double. */
struct map_shown map_number_of(const struct map_row *row, const struct map_rule *r, size_t op,
			       long double v);
/* json: what is no number has quotes. */
void map_put_number(struct md_buf *out, int width, struct map_shown n, bool json);
/* In one line, whatever bytes the application's text has; json: in quotes. */
void map_put_text(struct md_buf *out, const struct map_value *v, bool json);
void map_put_value(struct md_buf *out, const struct map_value *v, bool json);
/* A blank and a value, for each field of the key. */
void map_put_key(struct md_buf *out, const struct map *m, const struct map_rule *r,
		 const struct map_row *row);
/* The values of topk, each in a line or after a comma. */
void map_put_top(struct md_buf *out, const struct map_rule *r, const struct map_row *row,
		 size_t op, bool json);
/* show.c: lines `WORD SENTENCE` about what the map misses. */
void map_put_problems(const struct map *m, struct md_buf *out);

#endif
