// SPDX-License-Identifier: GPL-2.0-or-later
/* The values of a map as a table with bars. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/rows.h"
#include "tracer/base/timefmt.h"
#include "tracer/view/map/put.h"

#define BAR 48                  /* columns of the longest bar: a line has 79 */

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

/* ---- the table ---- */

static void print_heading(const struct map_rule *r, struct md_buf *out)
{
	size_t begin = out->len;

	for (size_t i = 0; i < r->op_count; i++)
		if (!map_op_is_histogram(&r->ops[i]) && r->ops[i].kind != MAP_TOPK)
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
		if (!map_op_is_histogram(&r->ops[i]) && r->ops[i].kind != MAP_TOPK) {
			md_buf_putc(out, ' ');
			map_put_number(out, 14, map_number_of(row, r, i, map_row_value(row, r, i)),
				       false);
			some = true;
		}
	if (!some) {
		md_buf_putc(out, ' ');
		md_buf_printf(out, "%14" PRIu64, row->count);
	}
	map_put_key(out, m, r, row);
	md_buf_putc(out, '\n');
}

static void print_lists(const struct map *m, const struct map_rule *r, const struct map_row *row,
			struct md_buf *out)
{
	for (size_t i = 0; i < r->op_count; i++) {
		const struct map_op *op = &r->ops[i];
		const union map_slot *s = map_row_slots(row, r, i);

		if (!map_op_is_histogram(op) && op->kind != MAP_TOPK)
			continue;
		md_buf_puts(out, op->label);
		map_put_key(out, m, r, row);
		md_buf_putc(out, '\n');
		if (map_op_is_histogram(op)) {
			put_histogram(out, op, s);
			continue;
		}
		map_put_top(out, r, row, i, false);
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

static void print_since(const char *word, int64_t ns, struct md_buf *out)
{
	char since[TIME_TEXT_MAX];

	time_print(ns, TIME_FORMAT_STATUS, since);
	md_buf_printf(out, "%s %s\n", word, since);
}

void map_put_problems(const struct map *m, struct md_buf *out)
{
	hidden_problems(m->hidden, out);
	hidden_problems(m->counters, out);
	if (m->counters && __atomic_load_n(&m->counters->buffers_refused, __ATOMIC_RELAXED))
		md_buf_puts(out, "problem user_buffers: the share of the session's owner has no "
				 "room for counters of a program, whose hits are not counted\n");
	if (m->counts_spoiled)
		md_buf_puts(out, "problem a program stored numbers in its counters that cannot be "
				 "true: they are not counted\n");
}

static void print_counters(const struct map *m, const struct map_rule *r,
			   const struct map_state *st, struct md_buf *out)
{
	struct md_buf advice = MD_BUF_INIT;

	md_buf_printf(out,
		      "rule %s\nevents %" PRIu64 "\nlost %" PRIu64 "\nmissing %" PRIu64 "\n",
		      r->text, st->events, st->lost, st->missing);
	if (m->domain == DOMAIN_KERNEL && !r->increments)
		md_buf_printf(out, "counted_by %s\n", r->in_kernel ? "kernel" : "daemon");
	if (r->counts && map_since(m, NULL) != map_since(m, r))
		print_since("counted_since", map_since(m, r), out);
	if (st->reason[0])
		md_buf_printf(out, "reason %s\n", st->reason);
	md_buf_printf(out, "left_out %" PRIu64 "\n", st->left_out);
	map_advise(m, r, st, &advice);
	print_lines("advice ", &advice, out);
	if (r->pair)
		md_buf_printf(out, "unpaired %" PRIu64 "\n", st->unpaired);
	if (r->shown)
		md_buf_printf(out, "keys %" PRIu32 "\n", st->table.count);
}

int map_print(const struct map *m, struct md_buf *out)
{
	print_since("since", map_since(m, NULL), out);
	map_put_problems(m, out);
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
