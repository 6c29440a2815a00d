// SPDX-License-Identifier: GPL-2.0-or-later
/* The values of a map as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/view/map/put.h"

/* The lines as an array of strings. */
static void json_lines(const char *member, struct md_buf *lines, struct md_buf *out)
{
	size_t n;

	md_buf_printf(out, ",\"%s\":[", member);
	for (const char *at = md_buf_str(lines); *at; at += n + 1) {
		n = strcspn(at, "\n");
		if (at != lines->data)
			md_buf_putc(out, ',');
		map_put_text(out, &(struct map_value){ .text = at, .len = n }, true);
	}
	md_buf_putc(out, ']');
	out->failed |= lines->failed;
	md_buf_deinit(lines);
}

static void json_text(struct md_buf *out, const char *text)
{
	struct map_value v = { .kind = MAP_TEXT, .text = text, .len = strlen(text) };

	map_put_text(out, &v, true);
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
		map_put_value(out, &v, true);
	}
	md_buf_printf(out, "},\"events\":%" PRIu64, row->count);
	for (size_t i = 0; i < r->op_count; i++) {
		const struct map_op *op = &r->ops[i];
		const union map_slot *s = map_row_slots(row, r, i);
		bool list = map_op_is_histogram(op) || op->kind == MAP_TOPK;

		md_buf_putc(out, ',');
		json_text(out, op->label);
		md_buf_puts(out, list ? ":[" : ":");
		if (map_op_is_histogram(op))
			json_histogram(out, op, s);
		else if (op->kind == MAP_TOPK)
			map_put_top(out, r, row, i, true);
		else
			map_put_number(out, 0, map_number_of(row, r, i, map_row_value(row, r, i)),
				       true);
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
	map_advise(m, r, st, &advice);
	json_lines("advice", &advice, out);
	if (m->domain == DOMAIN_KERNEL && !r->increments)
		md_buf_printf(out, ",\"counted_by\":\"%s\"", r->in_kernel ? "kernel" : "daemon");
	if (r->counts && map_since(m, NULL) != map_since(m, r))
		md_buf_printf(out, ",\"counted_since\":%" PRId64, map_since(m, r));
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

	map_put_problems(m, &problems);
	md_buf_printf(out, "{\"map\":\"%s\",\"since\":%" PRId64, m->name, map_since(m, NULL));
	json_lines("problems", &problems, out);
	md_buf_puts(out, ",\"rules\":[");
	for (size_t i = 0; i < m->rules.count && !ret; i++) {
		md_buf_puts(out, i ? ",\n" : "\n");
		ret = json_rule(m, &m->rules.rules[i], &m->states[i], out);
	}
	md_buf_puts(out, "]}\n");
	return ret ? ret : out->failed ? -ENOMEM : 0;
}
