// SPDX-License-Identifier: GPL-2.0-or-later
/* The values of a map as a table with bars, and as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/json.h"
#include "metadata/name.h"
#include "tracer/base/lexer.h"
#include "tracer/base/rows.h"
#include "tracer/base/timefmt.h"
#include "tracer/view/map/map.h"

#define BAR 48                  /* columns of the longest bar: a line has 79 */

static bool is_histogram(const struct map_op *op)
{
	return op->kind == MAP_HIST || op->kind == MAP_LHIST;
}

long double map_row_value(const struct map_row *row, const struct map_rule *r, size_t op)
{
	const union map_slot *s = map_row_slots(row, r, op);
	enum map_operator kind = r->ops[op].kind;

	if (kind == MAP_COUNT || is_histogram(&r->ops[op]))
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

/* A number of events: an integer, or a floating point number of one size. */
struct number {
	long double v;
	bool real, single;
};

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

static void put_number(struct md_buf *out, int width, struct number n, bool json)
{
	if (n.real || !is_whole(n.v))
		put_double(out, width, (double)n.v, n.single, json);
	else
		md_buf_printf(out, "%*.0Lf", width, n.v);
}

/* A number of an operator. What was computed from several has the digits of a double. */
static struct number number_of(const struct map_row *row, const struct map_rule *r, size_t op,
			       long double v)
{
	enum map_operator kind = r->ops[op].kind;
	bool real = row->real >> op & 1, wide = row->wide >> op & 1;

	return (struct number){ v, real, real && !wide && kind != MAP_SUM && kind != MAP_AVG };
}

/* In one line, whatever bytes the application's text has. */
static void put_text(struct md_buf *out, const struct map_value *v, bool json)
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
		md_name_event(copy, &clean);
	out->failed |= !copy || clean.failed;
	word_print(md_buf_str(&clean), out);
	free(copy);
	md_buf_deinit(&clean);
}

static void put_value(struct md_buf *out, const struct map_value *v, bool json)
{
	if (v->kind == MAP_TEXT)
		put_text(out, v, json);
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
		put_value(out, &v, false);
}

static void put_key(struct md_buf *out, const struct map *m, const struct map_rule *r,
		    const struct map_row *row)
{
	struct map_value v;
	size_t i = 0;

	for (uint32_t at = 0; map_key_next(row, &at, &v); i++) {
		md_buf_putc(out, ' ');
		map_key_number(m, r, row, i, v, out);
	}
}

/* ---- bars ---- */

/*
 * 0, 5, 1K, 512M: a bound of hist is a power of two, and short. The latency of a pair, which has no
 * field, is a time: 1.02us.
 */
static void put_bound(struct md_buf *out, const struct map_op *op, long double v)
{
	static const char units[] = " KMGTPE";
	static const char *const times[] = { "ns", "us", "ms", "s" };
	unsigned int u = 0;

	if (!op->field.text) {
		for (; v >= 1000 && u < 3; u++)
			v /= 1000;
		md_buf_printf(out, "%.3Lg%s", v, times[u]);
		return;
	}
	if (op->kind == MAP_HIST)
		for (; v >= 1024 && units[u + 1]; u++)
			v /= 1024;
	md_buf_printf(out, "%.0Lf", v);
	if (u)
		md_buf_putc(out, units[u]);
}

static void put_interval(struct md_buf *out, const struct map_op *op, uint32_t i)
{
	struct map_interval n = map_interval_of(op, i);
	size_t begin = out->len;

	md_buf_puts(out, isinf(n.from) ? "(..." : "[");
	if (!isinf(n.from))
		put_bound(out, op, n.from);
	md_buf_puts(out, ", ");
	if (isinf(n.to))
		md_buf_puts(out, "...");
	else
		put_bound(out, op, n.to);
	md_buf_putc(out, ')');
	while (out->len < begin + 18 && !out->failed)
		md_buf_putc(out, ' ');
}

/* From the first interval with events to the last one. */
static void put_histogram(struct md_buf *out, const struct map_op *op, const union map_slot *s)
{
	uint32_t first = 0, last = op->slots - 1;
	uint64_t most = 1;

	while (first < last && !s[first].n)
		first++;
	while (last > first && !s[last].n)
		last--;
	for (uint32_t i = first; i <= last; i++)
		most = s[i].n > most ? s[i].n : most;
	for (uint32_t i = first; i <= last; i++) {
		put_interval(out, op, i);
		md_buf_printf(out, "%10" PRIu64 " |", s[i].n);
		bar_put(out, s[i].n, most, BAR, " ");
		md_buf_puts(out, "|\n");
	}
}

static void put_top(struct md_buf *out, const struct map_rule *r, const struct map_row *row,
		    size_t op, bool json)
{
	const union map_slot *s = map_row_slots(row, r, op);

	for (uint32_t i = 0; i < r->ops[op].slots && i < row->count; i++) {
		if (i)
			md_buf_putc(out, json ? ',' : '\n');
		put_number(out, 0, number_of(row, r, op, s[i].v), json);
	}
}

/* ---- the table ---- */

static void print_heading(const struct map_rule *r, struct md_buf *out)
{
	size_t begin = out->len;

	for (size_t i = 0; i < r->op_count; i++)
		if (!is_histogram(&r->ops[i]) && r->ops[i].kind != MAP_TOPK)
			md_buf_printf(out, " %14s", r->ops[i].label);
	if (out->len == begin)
		md_buf_printf(out, " %14s", "count");
	if (out->len > begin && !out->failed)
		out->data[begin] = '#';
	for (size_t i = 0; i < r->by_count; i++)
		md_buf_printf(out, " %s", r->by[i].text);
	md_buf_putc(out, '\n');
}

static void print_row(const struct map *m, const struct map_rule *r, const struct map_row *row,
		      struct md_buf *out)
{
	bool some = false;

	for (size_t i = 0; i < r->op_count; i++)
		if (!is_histogram(&r->ops[i]) && r->ops[i].kind != MAP_TOPK) {
			md_buf_putc(out, ' ');
			put_number(out, 14, number_of(row, r, i, map_row_value(row, r, i)), false);
			some = true;
		}
	if (!some) {
		md_buf_putc(out, ' ');
		md_buf_printf(out, "%14" PRIu64, row->count);
	}
	put_key(out, m, r, row);
	md_buf_putc(out, '\n');
}

static void print_lists(const struct map *m, const struct map_rule *r, const struct map_row *row,
			struct md_buf *out)
{
	for (size_t i = 0; i < r->op_count; i++) {
		const struct map_op *op = &r->ops[i];
		const union map_slot *s = map_row_slots(row, r, i);

		if (!is_histogram(op) && op->kind != MAP_TOPK)
			continue;
		md_buf_puts(out, op->label);
		put_key(out, m, r, row);
		md_buf_putc(out, '\n');
		if (is_histogram(op)) {
			put_histogram(out, op, s);
			continue;
		}
		put_top(out, r, row, i, false);
		md_buf_putc(out, '\n');
	}
}

/* Each line of the text, after the word. */
static void print_lines(const char *word, struct md_buf *lines, struct md_buf *out)
{
	size_t n;

	for (const char *at = md_buf_str(lines); *at; at += n + 1) {
		n = strcspn(at, "\n");
		md_buf_printf(out, "%s%.*s\n", word, (int)n, at);
	}
	out->failed |= lines->failed;
	md_buf_deinit(lines);
}

/* The lines as an array of strings. */
static void json_lines(const char *member, struct md_buf *lines, struct md_buf *out)
{
	size_t n;

	md_buf_printf(out, ",\"%s\":[", member);
	for (const char *at = md_buf_str(lines); *at; at += n + 1) {
		n = strcspn(at, "\n");
		if (at != lines->data)
			md_buf_putc(out, ',');
		put_text(out, &(struct map_value){ .text = at, .len = n }, true);
	}
	md_buf_putc(out, ']');
	out->failed |= lines->failed;
	md_buf_deinit(lines);
}

static void print_counters(const struct map *m, const struct map_rule *r,
			   const struct map_state *st, struct md_buf *out)
{
	struct md_buf advice = MD_BUF_INIT;

	md_buf_printf(out,
		      "rule %s\nevents %" PRIu64 "\nlost %" PRIu64 "\nmissing %" PRIu64 "\n",
		      r->text, st->events, st->lost, st->missing);
	if (st->reason[0])
		md_buf_printf(out, "reason %s\n", st->reason);
	md_buf_printf(out, "left_out %" PRIu64 "\n", st->left_out);
	map_advise(m, st, &advice);
	print_lines("advice ", &advice, out);
	if (r->pair)
		md_buf_printf(out, "unpaired %" PRIu64 "\n", st->unpaired);
	if (r->shown)
		md_buf_printf(out, "keys %" PRIu32 "\n", st->table.count);
}

int map_print(const struct map *m, struct md_buf *out)
{
	char since[TIME_TEXT_MAX];

	time_print(m->since, TIME_FORMAT_STATUS, since);
	md_buf_printf(out, "since %s\n", since);
	hidden_problems(m->hidden, out);
	for (size_t i = 0; i < m->rules.count; i++) {
		const struct map_rule *r = &m->rules.rules[i];
		const struct map_table *t = &m->states[i].table;
		uint32_t count;
		struct map_ordered *all = map_order(t, r, &count);

		if (!all)
			return -ENOMEM;
		md_buf_putc(out, '\n');
		print_counters(m, r, &m->states[i], out);
		print_heading(r, out);
		for (uint32_t n = 0; n < count; n++)
			print_row(m, r, all[n].row, out);
		for (uint32_t n = 0; n < count; n++)
			print_lists(m, r, all[n].row, out);
		free(all);
	}
	return out->failed ? -ENOMEM : 0;
}

/* ---- JSON ---- */

static void json_text(struct md_buf *out, const char *text)
{
	put_text(out, &(struct map_value){ .kind = MAP_TEXT, .text = text, .len = strlen(text) },
		 true);
}

static void json_histogram(struct md_buf *out, const struct map_op *op, const union map_slot *s)
{
	const char *comma = "";

	for (uint32_t i = 0; i < op->slots; i++) {
		struct map_interval n = map_interval_of(op, i);

		if (!s[i].n)
			continue;
		md_buf_printf(out, "%s{", comma);
		comma = ",";
		if (!isinf(n.from))
			md_buf_printf(out, "\"from\":%.0Lf,", n.from);
		if (!isinf(n.to))
			md_buf_printf(out, "\"to\":%.0Lf,", n.to);
		md_buf_printf(out, "\"count\":%" PRIu64 "}", s[i].n);
	}
}

static void json_row(const struct map_rule *r, const struct map_row *row, struct md_buf *out)
{
	struct map_value v;
	uint32_t at = 0;

	md_buf_puts(out, "{\"key\":{");
	for (size_t i = 0; i < r->by_count && map_key_next(row, &at, &v); i++) {
		md_buf_puts(out, i ? "," : "");
		json_text(out, r->by[i].text);
		md_buf_putc(out, ':');
		v.single = row->single >> i & 1;
		put_value(out, &v, true);
	}
	md_buf_printf(out, "},\"events\":%" PRIu64, row->count);
	for (size_t i = 0; i < r->op_count; i++) {
		const struct map_op *op = &r->ops[i];
		const union map_slot *s = map_row_slots(row, r, i);
		bool list = is_histogram(op) || op->kind == MAP_TOPK;

		md_buf_putc(out, ',');
		json_text(out, op->label);
		md_buf_puts(out, list ? ":[" : ":");
		if (is_histogram(op))
			json_histogram(out, op, s);
		else if (op->kind == MAP_TOPK)
			put_top(out, r, row, i, true);
		else
			put_number(out, 0, number_of(row, r, i, map_row_value(row, r, i)), true);
		md_buf_puts(out, list ? "]" : "");
	}
	md_buf_putc(out, '}');
}

static int json_rule(const struct map *m, const struct map_rule *r, const struct map_state *st,
		     struct md_buf *out)
{
	uint32_t count;
	struct map_ordered *all = map_order(&st->table, r, &count);
	struct md_buf advice = MD_BUF_INIT;

	if (!all)
		return -ENOMEM;
	md_buf_puts(out, "{\"rule\":");
	json_text(out, r->text);
	md_buf_printf(out,
		      ",\"events\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"missing\":%" PRIu64
		      ",\"left_out\":%" PRIu64,
		      st->events, st->lost, st->missing, st->left_out);
	map_advise(m, st, &advice);
	json_lines("advice", &advice, out);
	if (st->reason[0]) {
		md_buf_puts(out, ",\"reason\":");
		json_text(out, st->reason);
	}
	if (r->pair)
		md_buf_printf(out, ",\"unpaired\":%" PRIu64, st->unpaired);
	if (r->shown)
		md_buf_printf(out, ",\"keys\":%" PRIu32, st->table.count);
	md_buf_puts(out, ",\"values\":[");
	for (uint32_t i = 0; i < count; i++) {
		md_buf_puts(out, i ? ",\n" : "\n");
		json_row(r, all[i].row, out);
	}
	md_buf_puts(out, "]}");
	free(all);
	return 0;
}

int map_print_json(const struct map *m, struct md_buf *out)
{
	struct md_buf problems = MD_BUF_INIT;
	int ret = 0;

	hidden_problems(m->hidden, &problems);
	md_buf_printf(out, "{\"map\":\"%s\",\"since\":%" PRId64, m->name, m->since);
	json_lines("problems", &problems, out);
	md_buf_puts(out, ",\"rules\":[");
	for (size_t i = 0; i < m->rules.count && !ret; i++) {
		md_buf_puts(out, i ? ",\n" : "\n");
		ret = json_rule(m, &m->rules.rules[i], &m->states[i], out);
	}
	md_buf_puts(out, "]}\n");
	return ret ? ret : out->failed ? -ENOMEM : 0;
}
