// SPDX-License-Identifier: GPL-2.0-or-later
/* Keys and numbers of maps as text and as JSON, and the order in which keys are shown. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/json.h"
#include "metadata/name.h"
#include "tracer/base/lexer.h"
#include "tracer/view/map/put.h"

bool map_op_is_histogram(const struct map_op *op)
{
	return op->kind == MAP_HIST || op->kind == MAP_LHIST;
}

long double map_row_value(const struct map_row *row, const struct map_rule *r, size_t op)
{
	const union map_slot *s = map_row_slots(row, r, op);
	enum map_operator kind = r->ops[op].kind;

	if (kind == MAP_COUNT || map_op_is_histogram(&r->ops[op]))
		return (long double)row->count;
	return kind == MAP_AVG ? s->v / (long double)row->count : s->v;
}

/*
 * ---- the order: by the first operator, the greatest first; then by key ----
 *
 * A sum of infinities may be no number: such a row comes last. (It compares with nothing, and an
 * order with it as equal to all others would be none.)
 */

static int compare_rows(const void *a, const void *b)
{
	const struct map_ordered *x = a, *y = b;
	uint32_t n = x->row->key_len < y->row->key_len ? x->row->key_len : y->row->key_len;
	int c = (x->value < y->value) - (x->value > y->value);

	c = c ? c : isnan(x->value) - isnan(y->value);
	c = c ? c : memcmp(x->row->key, y->row->key, n);
	return c ? c : (x->row->key_len > y->row->key_len) - (x->row->key_len < y->row->key_len);
}

struct map_ordered *map_order(const struct map_table *t, const struct map_rule *r, uint32_t *shown)
{
	struct map_ordered *all = calloc(t->count + 1, sizeof(*all));

	for (uint32_t i = 0; i < t->count && all; i++)
		all[i] = (struct map_ordered){ t->rows[i], map_row_value(t->rows[i], r, 0) };
	if (all && t->count)
		qsort(all, t->count, sizeof(*all), compare_rows);
	*shown = r->shown && r->shown < t->count ? r->shown : t->count;
	return all;
}

/* ---- numbers and keys ---- */

static bool is_whole(long double v)
{
	long double n = v < 0 ? -v : v;

	return n < 18446744073709551616.0L && n == (long double)(uint64_t)n;
}

/* A floating point number as in export/json; json: what is no number has quotes. */
static void put_double(struct md_buf *out, int width, double v, bool single, bool json)
{
	char text[48], *begin = text, *end = md_json_put_double(text, v, single);

	if (*begin == '"' && !json) {
		begin++;
		end--;
	}
	md_buf_printf(out, "%*.*s", width, (int)(end - begin), begin);
}

void map_put_number(struct md_buf *out, int width, struct map_shown n, bool json)
{
	if (n.real || !is_whole(n.v))
		put_double(out, width, (double)n.v, n.single, json);
	else
		md_buf_printf(out, "%*.0Lf", width, n.v);
}

/* A number of an operator. What was computed from several has the digits of a double. */
struct map_shown map_number_of(const struct map_row *row, const struct map_rule *r, size_t op,
			       long double v)
{
	enum map_operator kind = r->ops[op].kind;
	bool real = row->real >> op & 1, wide = row->wide >> op & 1;

	return (struct map_shown){ v, real, real && !wide && kind != MAP_SUM && kind != MAP_AVG };
}

/* In one line, whatever bytes the application's text has. */
void map_put_text(struct md_buf *out, const struct map_value *v, bool json)
{
	struct md_buf clean = MD_BUF_INIT;
	char *copy;

	if (json) {
		md_buf_putc(out, '"');
		md_json_escape_put(v->text, v->len, out);
		md_buf_putc(out, '"');
		return;
	}
	copy = strndup(v->text, v->len);
	if (copy)
		md_name_shown(copy, &clean);
	out->failed |= !copy || clean.failed;
	word_print(md_buf_str(&clean), out);
	free(copy);
	md_buf_deinit(&clean);
}

void map_put_value(struct md_buf *out, const struct map_value *v, bool json)
{
	if (v->kind == MAP_TEXT)
		map_put_text(out, v, json);
	else if (v->kind == MAP_SIGNED)
		md_buf_printf(out, "%" PRId64, v->i);
	else if (v->kind == MAP_UNSIGNED)
		md_buf_printf(out, "%" PRIu64, v->u);
	else
		put_double(out, 0, v->f, v->single, json);
}

/* The fields of the kernel's type dev_t have these names; traces do not have the type. */
static bool is_device(const struct map *m, const char *field)
{
	return m->domain == DOMAIN_KERNEL && (!strcmp(field, "dev") || !strcmp(field, "old_dev"));
}

void map_key_number(const struct map *m, const struct map_rule *r, const struct map_row *row,
		    size_t i, struct map_value v, struct md_buf *out)
{
	v.single = row->single >> i & 1;
	if (v.kind == MAP_UNSIGNED && i < r->by_count && is_device(m, r->by[i].text))
		md_buf_printf(out, "%" PRIu64 ":%" PRIu64, v.u >> 20, v.u & 0xfffff);
	else if (v.kind == MAP_UNSIGNED && row->hex >> i & 1)
		md_buf_printf(out, "0x%" PRIX64, v.u);
	else
		map_put_value(out, &v, false);
}

void map_put_key(struct md_buf *out, const struct map *m, const struct map_rule *r,
		    const struct map_row *row)
{
	struct map_value v;
	size_t i = 0;

	for (uint32_t at = 0; map_key_next(row, &at, &v); i++) {
		md_buf_putc(out, ' ');
		map_key_number(m, r, row, i, v, out);
	}
}

void map_put_top(struct md_buf *out, const struct map_rule *r, const struct map_row *row,
		    size_t op, bool json)
{
	const union map_slot *s = map_row_slots(row, r, op);

	for (uint32_t i = 0; i < r->ops[op].slots && i < row->count; i++) {
		if (i)
			md_buf_putc(out, json ? ',' : '\n');
		map_put_number(out, 0, map_number_of(row, r, op, s[i].v), json);
	}
}
