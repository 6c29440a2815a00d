// SPDX-License-Identifier: GPL-2.0-or-later
/* The values of a map as a script for SQLite. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/view/map/put.h"

static const char tables[] =
	"CREATE TABLE rules (id INTEGER PRIMARY KEY, map TEXT NOT NULL, rule TEXT NOT NULL,\n"
	"  since INTEGER NOT NULL, events INTEGER NOT NULL, lost INTEGER NOT NULL,\n"
	"  missing INTEGER NOT NULL, left_out INTEGER NOT NULL, unpaired INTEGER NOT NULL);\n"
	"CREATE TABLE map_keys (id INTEGER PRIMARY KEY, rule_id INTEGER NOT NULL REFERENCES "
	"rules,\n"
	"  name TEXT NOT NULL, events INTEGER NOT NULL);\n"
	"CREATE TABLE key_fields (key_id INTEGER NOT NULL REFERENCES map_keys, field TEXT NOT "
	"NULL,\n"
	"  value);\n"
	"CREATE TABLE map_values (key_id INTEGER NOT NULL REFERENCES map_keys,\n"
	"  operator TEXT NOT NULL, rank INTEGER NOT NULL, value);\n"
	"CREATE TABLE intervals (key_id INTEGER NOT NULL REFERENCES map_keys,\n"
	"  operator TEXT NOT NULL, low, high, events INTEGER NOT NULL);\n"
	"CREATE VIEW vmap AS SELECT rule, name AS key, operator, rank, value\n"
	"  FROM map_values, map_keys, rules WHERE key_id = map_keys.id AND rule_id = rules.id;\n";

static void put_text(struct md_buf *out, const char *text, size_t len)
{
	md_buf_putc(out, '\'');
	for (size_t i = 0; i < len; i++)
		if (text[i] == '\'')
			md_buf_puts(out, "''");
		else
			md_buf_putc(out, text[i]);
	md_buf_putc(out, '\'');
}

static void put_string(struct md_buf *out, const char *text)
{
	put_text(out, text, strlen(text));
}

static void put_number(struct md_buf *out, struct map_shown n)
{
	if (isnan(n.v))
		md_buf_puts(out, "NULL");
	else if (isinf(n.v))
		md_buf_puts(out, n.v < 0 ? "-9e999" : "9e999");
	else
		map_put_number(out, 0, n, false);
}

/* Without its blank; `put` is passed on from one to the next. */
static void put_name(struct md_buf *out, const struct map *m, const struct map_rule *r,
		     const struct map_row *row, struct md_buf *text)
{
	md_buf_reset(text);
	map_put_key(text, m, r, row);
	put_string(out, md_buf_str(text) + (text->len > 0));
	out->failed |= text->failed;
}

static void put_fields(struct md_buf *out, const struct map_rule *r, const struct map_row *row,
		       uint64_t id)
{
	struct map_value v;
	uint32_t at = 0;

	for (size_t i = 0; i < r->by_count && map_key_next(row, &at, &v); i++) {
		md_buf_printf(out, "INSERT INTO key_fields VALUES(%" PRIu64 ",", id);
		put_string(out, r->by[i].text);
		md_buf_putc(out, ',');
		if (v.kind == MAP_TEXT)
			put_text(out, v.text, v.len);
		else if (v.kind == MAP_FLOAT)
			put_number(out, (struct map_shown){ (long double)v.f, true,
							    row->single >> i & 1 });
		else
			map_put_value(out, &v, false);
		md_buf_puts(out, ");\n");
	}
}

static void put_bound(struct md_buf *out, long double v)
{
	if (isinf(v))
		md_buf_puts(out, "NULL");
	else
		md_buf_printf(out, "%.0Lf", v);
}

static void put_intervals(struct md_buf *out, const struct map_op *op, const union map_slot *s,
			  uint64_t id)
{
	for (uint32_t i = 0; i < op->slots; i++) {
		struct map_interval n = map_interval_of(op, i);

		if (!s[i].n)
			continue;
		md_buf_printf(out, "INSERT INTO intervals VALUES(%" PRIu64 ",", id);
		put_string(out, op->label);
		md_buf_putc(out, ',');
		put_bound(out, n.from);
		md_buf_putc(out, ',');
		put_bound(out, n.to);
		md_buf_printf(out, ",%" PRIu64 ");\n", s[i].n);
	}
}

static void put_value(struct md_buf *out, const struct map_op *op, uint32_t rank,
		      struct map_shown n, uint64_t id)
{
	md_buf_printf(out, "INSERT INTO map_values VALUES(%" PRIu64 ",", id);
	put_string(out, op->label);
	md_buf_printf(out, ",%" PRIu32 ",", rank);
	put_number(out, n);
	md_buf_puts(out, ");\n");
}

static void put_operators(struct md_buf *out, const struct map_rule *r, const struct map_row *row,
			  uint64_t id)
{
	for (size_t i = 0; i < r->op_count; i++) {
		const struct map_op *op = &r->ops[i];
		const union map_slot *s = map_row_slots(row, r, i);

		if (map_op_is_histogram(op)) {
			put_intervals(out, op, s, id);
			continue;
		}
		if (op->kind != MAP_TOPK)
			put_value(out, op, 1, map_number_of(row, r, i, map_row_value(row, r, i)),
				  id);
		for (uint32_t k = 0; op->kind == MAP_TOPK && k < op->slots && k < row->count; k++)
			put_value(out, op, k + 1, map_number_of(row, r, i, s[k].v), id);
	}
}

/* *id: the number of the last key. */
static int put_rule(const struct map *m, size_t i, uint64_t *id, struct md_buf *out)
{
	const struct map_rule *r = &m->rules.rules[i];
	const struct map_state *st = &m->states[i];
	struct md_buf text = MD_BUF_INIT;
	uint32_t count;
	struct map_ordered *all = map_order(&st->table, r, &count);

	if (!all)
		return -ENOMEM;
	md_buf_printf(out, "INSERT INTO rules VALUES(%zu,", i + 1);
	put_string(out, m->name);
	md_buf_putc(out, ',');
	put_string(out, r->text);
	md_buf_printf(out,
		      ",%" PRId64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
		      ");\n",
		      map_since(m, r), st->events, st->lost, st->missing, st->left_out,
		      st->unpaired);
	for (uint32_t n = 0; n < count; n++) {
		md_buf_printf(out, "INSERT INTO map_keys VALUES(%" PRIu64 ",%zu,", ++*id, i + 1);
		put_name(out, m, r, all[n].row, &text);
		md_buf_printf(out, ",%" PRIu64 ");\n", all[n].row->count);
		put_fields(out, r, all[n].row, *id);
		put_operators(out, r, all[n].row, *id);
	}
	free(all);
	md_buf_deinit(&text);
	return 0;
}

int map_print_sql(const struct map *m, struct md_buf *out)
{
	uint64_t id = 0;
	int ret = 0;

	md_buf_puts(out, "BEGIN;\n");
	md_buf_puts(out, tables);
	for (size_t i = 0; i < m->rules.count && !ret; i++)
		ret = put_rule(m, i, &id, out);
	md_buf_puts(out, "COMMIT;\n");
	return ret ? ret : out->failed ? -ENOMEM : 0;
}
