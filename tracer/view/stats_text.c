/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `stats` and `top` as tables. Each line begins with the name of its table; `#`: the columns. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/rows.h"
#include "tracer/view/stats.h"

#define HEADING_MAX 160
#define FRAMES_SHOWN 100u       /* of the functions of callstacks */

static const char *const domain_names[DOMAINS] = { [DOMAIN_USER] = "user",
						   [DOMAIN_KERNEL] = "kernel" };
static const char *const by_names[] = { [PAIR_THREAD] = "thread", [PAIR_CPU] = "cpu",
					[PAIR_FIELDS] = "fields", [PAIR_UNKNOWN] = "-" };

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* ---- columns ---- */

/* avg, to the next nanosecond. */
static uint64_t average(const struct slice_times *t)
{
	return t->total / t->count + (t->total % t->count >= t->count - t->count / 2);
}

static void put_rate(struct rows *r, const struct stats *st, uint64_t n)
{
	cell_rate(r, "per_second", st->end > st->begin,
		  (double)n * 1e9 / (double)(st->end - st->begin));
}

/* A line that says what the table does not have. */
static void put_remark(struct rows *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put_remark(struct rows *r, const char *fmt, ...)
{
	char line[160];
	va_list args;

	if (r->json)
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	md_buf_printf(r->out, "# %s\n", line);
}

/* ---- the whole ---- */

static void print_span(const struct stats *st, struct rows *r)
{
	bool some = st->begin <= st->end, whole = st->pairs;
	uint64_t packets = 0;

	table_begin(r, "span", "span seconds begin end");
	row_begin(r, "span");
	cell_seconds(r, "ns", true, some ? st->end - st->begin : 0);
	cell_seconds(r, "begin_ns", some, st->offset + st->begin);
	cell_seconds(r, "end_ns", some, st->offset + st->end);
	row_end(r);
	table_end(r);
	table_begin(r, "events", "events count per_second");
	row_begin(r, "events");
	cell_number(r, "count", 0, true, st->tally.events);
	put_rate(r, st, st->tally.events);
	row_end(r);
	table_end(r);
	for (size_t i = 0; i < st->tally.count; i++)
		packets = add_saturated(packets,
					stream_losses(&st->tally.streams[i].stream).packets);
	table_begin(r, "lost", "lost discarded overwritten missed packets");
	row_begin(r, "lost");
	cell_number(r, "discarded", 0, whole, st->counts.discarded);
	cell_number(r, "overwritten", 0, whole, st->counts.overwritten);
	cell_number(r, "missed", 0, true, st->missed);
	cell_number(r, "packets", 0, true, packets);
	row_end(r);
	table_end(r);
}

/* ---- events ---- */

struct row { enum domain domain; const char *name; uint64_t count; };

static int compare_names(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int c = compare_numbers(x->domain, y->domain);

	return c ? c : strcmp(x->name, y->name);
}

static int compare_counts(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int c = compare_numbers(y->count, x->count);

	return c ? c : compare_names(a, b);
}

/* The events of all streams, each name of a domain once. Free the array; NULL: no memory. */
static struct row *take_rows(const struct tally *t, size_t *count)
{
	struct row *rows;
	size_t n = 0, used = 0;

	for (size_t i = 0; i < t->count; i++)
		n += t->streams[i].size;
	rows = calloc(n + 1, sizeof(*rows));
	for (size_t i = 0, j = 0; i < t->count && rows; i++)
		for (uint32_t id = 0; id < t->streams[i].size; id++) {
			const struct tally_event *e = &t->streams[i].events[id];

			if (e->count)
				rows[j++] = (struct row){ t->streams[i].domain,
								e->class->name, e->count };
			used = j;
		}
	if (used)
		qsort(rows, used, sizeof(*rows), compare_names);
	*count = 0;
	for (size_t i = 0; i < used; i++) {
		if (*count && !compare_names(&rows[*count - 1], &rows[i]))
			rows[*count - 1].count += rows[i].count;
		else
			rows[(*count)++] = rows[i];
	}
	if (*count)
		qsort(rows, *count, sizeof(*rows), compare_counts);
	return rows;
}

static int print_events(const struct stats *st, struct rows *r)
{
	char heading[HEADING_MAX];
	size_t count;
	struct row *rows = take_rows(&st->tally, &count);

	if (!rows)
		return -ENOMEM;
	snprintf(heading, sizeof(heading), "event domain %12s %13s %-*s name", "count",
		 "per_second", BAR_COLUMNS, "bar");
	table_begin(r, "event", heading);
	for (size_t i = 0; i < count; i++) {
		row_begin(r, "event");
		cell_word(r, "domain", -8, domain_names[rows[i].domain]);
		cell_number(r, "count", 12, true, rows[i].count);
		put_rate(r, st, rows[i].count);
		cell_bar(r, rows[i].count, rows[0].count);
		cell_name(r, "name", rows[i].name);
		row_end(r);
	}
	table_end(r);
	free(rows);
	return 0;
}

/* ---- processes ---- */

static int compare_processes(const void *a, const void *b)
{
	const struct process_tally *x = *(struct process_tally *const *)a;
	const struct process_tally *y = *(struct process_tally *const *)b;
	int c = compare_numbers(y->events, x->events);

	return c ? c : compare_numbers((uintptr_t)x, (uintptr_t)y);
}

/*
 * `others` are those that the table had no room for. The bar is of n; most 0: there is none.
 */
static void put_process(const struct process_tally *p, bool others, uint64_t n, uint64_t most,
			struct rows *r)
{
	cell_number(r, "pid", 8, !others && p->pid >= 0, (uint64_t)p->pid);
	cell_number(r, "tid", 8, !others && p->tid >= 0, (uint64_t)p->tid);
	if (most)
		cell_bar(r, n, most);
	cell_name(r, "procname", others ? "others" : p->named ? p->name : NULL);
}

static int print_processes(const struct stats *st, struct rows *r)
{
	const struct tally *t = &st->tally;
	const struct process_tally **rows = calloc(t->process_count + 1, sizeof(*rows));
	char heading[HEADING_MAX];
	uint32_t n = 0;

	if (!rows)
		return -ENOMEM;
	snprintf(heading, sizeof(heading), "process domain %10s %13s %8s %8s %-*s procname",
		 "count", "per_second", "pid", "tid", BAR_COLUMNS, "bar");
	table_begin(r, "process", heading);
	for (uint32_t i = 0; i < t->process_count; i++)
		if (t->processes[i].events)
			rows[n++] = &t->processes[i];
	qsort(rows, n, sizeof(struct process_tally *), compare_processes);
	for (uint32_t i = 0; i < n; i++) {
		bool others = rows[i] == t->processes;

		row_begin(r, "process");
		cell_known_word(r, "domain", -6, !others, domain_names[rows[i]->domain]);
		cell_number(r, "count", 12, true, rows[i]->events);
		put_rate(r, st, rows[i]->events);
		put_process(rows[i], others, rows[i]->events, rows[0]->events, r);
		row_end(r);
	}
	table_end(r);
	free(rows);
	return 0;
}

/* ---- pairs ---- */

static int compare_totals(const struct slice_times *x, const struct slice_times *y)
{
	int c = compare_numbers(y->total, x->total);

	return c ? c : compare_numbers(y->count, x->count);
}

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = *(struct pair *const *)a, *y = *(struct pair *const *)b;
	int c = compare_totals(&x->times, &y->times);

	return c ? c : strcmp(x->name, y->name);
}

/* most: the largest total of the table. */
static void put_pair(const struct pair *p, uint64_t most, struct rows *r)
{
	const struct slice_times *t = &p->times;
	bool known = t->count;
	enum pair_by by = p->of_threads && p->by != PAIR_FIELDS ? PAIR_THREAD : p->by;

	row_begin(r, "pair");
	cell_word(r, "domain", -6, domain_names[p->domain]);
	cell_known_word(r, "by", -6, by != PAIR_UNKNOWN, by_names[by]);
	cell_number(r, "count", 10, by != PAIR_UNKNOWN, t->count);
	cell_number(r, "no_end", 10, by != PAIR_UNKNOWN, p->begun - t->count);
	cell_number(r, "no_begin", 10, by != PAIR_UNKNOWN, p->ended - t->count);
	cell_time(r, "total_ns", known, t->total);
	cell_time(r, "avg_ns", known, known ? average(t) : 0);
	cell_time(r, "p50_ns", known, times_percentile(t, p->histogram, 500));
	cell_time(r, "p99_ns", known, times_percentile(t, p->histogram, 990));
	cell_time(r, "max_ns", known, t->max);
	cell_bar(r, t->total, most);
	cell_name(r, "name", p->name);
	row_end(r);
}

static int print_pairs(const struct stats *st, struct rows *r)
{
	const struct slices *v = &st->pairs->slices;
	const struct slices_dropped *dropped = &v->dropped;
	const struct pair **rows = calloc(st->pairs->count + 1, sizeof(struct pair *));
	char heading[HEADING_MAX];
	uint32_t n = 0;

	if (!rows)
		return -ENOMEM;
	snprintf(heading, sizeof(heading),
		 "pair domain by %8s %10s %10s %13s %13s %13s %13s %13s %-*s name", "count",
		 "no_end", "no_begin", "total_us", "avg_us", "p50_us", "p99_us", "max_us",
		 BAR_COLUMNS, "bar");
	table_begin(r, "pair", heading);
	for (uint32_t i = 0; i < st->pairs->count; i++)
		if (st->pairs->all[i].begun && st->pairs->all[i].ended)
			rows[n++] = &st->pairs->all[i];
	qsort(rows, n, sizeof(struct pair *), compare_pairs);
	for (uint32_t i = 0; i < n; i++)
		put_pair(rows[i], rows[0]->times.total, r);
	table_end(r);
	if (st->pairs->more)
		put_remark(r, "more than %u pairs: the others are left out", PAIRS_MAX);
	if (dropped->overwritten)
		put_remark(r,
			   "%" PRIu64 " begins without an end because events were overwritten",
			   dropped->overwritten);
	if (dropped->tracked)
		put_remark(r, "%" PRIu64 " begins without an end because of tracking",
			   dropped->tracked);
	if (v->interrupted)
		put_remark(r, "%" PRIu64 " pairs have no time because events between were lost",
			   v->interrupted);
	if (v->unsure)
		put_remark(r, "%" PRIu64 " pairs while another CPU lost events: few may be false",
			   v->unsure);
	rows_number(r, "pairs_left_out", st->pairs->more);
	rows_number(r, "begins_dropped", dropped->overwritten);
	rows_number(r, "begins_dropped_by_tracking", dropped->tracked);
	rows_number(r, "pairs_interrupted", v->interrupted);
	rows_number(r, "pairs_unsure", v->unsure);
	free(rows);
	return 0;
}

static int compare_pair_processes(const void *a, const void *b)
{
	const struct pair_process *x = *(struct pair_process *const *)a;
	const struct pair_process *y = *(struct pair_process *const *)b;
	int c = compare_totals(&x->times, &y->times);

	return c ? c : compare_numbers((uintptr_t)x, (uintptr_t)y);
}

static int print_pair_processes(const struct stats *st, struct rows *r)
{
	const struct pairs *p = st->pairs;
	const struct pair_process **rows =
		calloc(p->process_count + 1, sizeof(struct pair_process *));
	char heading[HEADING_MAX];
	uint32_t n = 0;

	if (!rows)
		return -ENOMEM;
	snprintf(heading, sizeof(heading),
		 "pair_process domain %8s %13s %13s %13s %8s %8s procname name", "count",
		 "total_us", "avg_us", "max_us", "pid", "tid");
	table_begin(r, "pair_process", heading);
	for (uint32_t i = 0; i < PAIRS_PROCESSES; i++)
		if (p->processes[i].times.count)
			rows[n++] = &p->processes[i];
	qsort(rows, n, sizeof(struct pair_process *), compare_pair_processes);
	for (uint32_t i = 0; i < n; i++) {
		const struct slice_times *t = &rows[i]->times;

		row_begin(r, "pair_process");
		cell_word(r, "domain", -6, domain_names[p->all[rows[i]->pair].domain]);
		cell_number(r, "count", 10, true, t->count);
		cell_time(r, "total_ns", true, t->total);
		cell_time(r, "avg_ns", true, average(t));
		cell_time(r, "max_ns", true, t->max);
		put_process(&st->tally.processes[rows[i]->process], !rows[i]->process, 0, 0, r);
		cell_name(r, "name", p->all[rows[i]->pair].name);
		row_end(r);
	}
	table_end(r);
	if (p->left_out)
		put_remark(r, "%" PRIu64 " times of further processes are left out", p->left_out);
	rows_number(r, "pair_processes_left_out", p->left_out);
	free(rows);
	return 0;
}

/* ---- callstacks ---- */

static int print_frames(const struct frames *f, struct rows *r)
{
	const struct frame **rows = calloc(FRAMES_MAX, sizeof(struct frame *));
	uint32_t n = rows ? frames_sort(f, rows) : 0;
	char heading[HEADING_MAX];

	if (!rows)
		return -ENOMEM;
	table_begin(r, "stacks", "stacks events");
	row_begin(r, "stacks");
	cell_number(r, "events", 0, true, f->events);
	row_end(r);
	table_end(r);
	snprintf(heading, sizeof(heading), "frame %12s %12s function file", "self", "total");
	table_begin(r, "frame", heading);
	for (uint32_t i = 0; i < n && i < FRAMES_SHOWN; i++) {
		row_begin(r, "frame  ");
		cell_number(r, "self", 12, true, rows[i]->self);
		cell_number(r, "total", 12, true, rows[i]->total);
		cell_name(r, "function", rows[i]->symbol.name);
		cell_name(r, "file", rows[i]->symbol.object);
		row_end(r);
	}
	table_end(r);
	if (n > FRAMES_SHOWN || f->left_out)
		put_remark(r, "the others of %u functions are left out", n);
	rows_number(r, "functions", n);
	free(rows);
	return 0;
}

int stats_print(const struct stats *st, bool json, struct md_buf *out)
{
	struct rows r = { .out = out, .json = json };
	int ret;

	rows_begin(&r);
	print_span(st, &r);
	ret = print_events(st, &r);
	if (!ret)
		ret = print_processes(st, &r);
	if (!ret && st->pairs)
		ret = print_pairs(st, &r);
	if (!ret && st->pairs)
		ret = print_pair_processes(st, &r);
	if (!ret && st->frames)
		ret = print_frames(st->frames, &r);
	rows_end(&r);
	return ret || !out->failed ? ret : -ENOMEM;
}
