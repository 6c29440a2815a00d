/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `stats` and `top` as tables. Each line begins with the name of its table; `#`: the columns. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "metadata/name.h"
#include "tracer/base/lexer.h"
#include "tracer/view/stats.h"

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

/* A name in one column, whatever its bytes are; NULL: not known. */
static void put_name(const char *name, struct md_buf *out)
{
	struct md_buf clean = MD_BUF_INIT;

	md_buf_putc(out, ' ');
	if (!name) {
		md_buf_putc(out, '-');
		return;
	}
	md_name_event(name, &clean);
	word_print(md_buf_str(&clean), out);
	out->failed |= clean.failed;
	md_buf_deinit(&clean);
}

static void put_number(struct md_buf *out, int width, bool known, uint64_t n)
{
	if (known)
		md_buf_printf(out, " %*" PRIu64, width, n);
	else
		md_buf_printf(out, " %*s", width, "-");
}

/* Microseconds with three decimals. */
static void put_time(struct md_buf *out, bool known, uint64_t ns)
{
	if (known)
		md_buf_printf(out, " %9" PRIu64 ".%03u", ns / 1000, (unsigned int)(ns % 1000));
	else
		md_buf_printf(out, " %13s", "-");
}

/* avg, to the next nanosecond. */
static uint64_t average(const struct pair_times *t)
{
	return t->total / t->count + (t->total % t->count >= t->count - t->count / 2);
}

static void put_rate(struct md_buf *out, const struct stats *st, uint64_t n)
{
	if (st->end > st->begin)
		md_buf_printf(out, " %13.1f", (double)n * 1e9 / (double)(st->end - st->begin));
	else
		md_buf_printf(out, " %13s", "-");
}

static void put_seconds(struct md_buf *out, uint64_t ns)
{
	md_buf_printf(out, " %" PRIu64 ".%09u", ns / 1000000000, (unsigned int)(ns % 1000000000));
}

/* ---- the whole ---- */

static void print_span(const struct stats *st, struct md_buf *out)
{
	bool empty = st->begin > st->end;
	uint64_t packets = 0;

	md_buf_puts(out, "# span seconds begin end\nspan");
	put_seconds(out, empty ? 0 : st->end - st->begin);
	if (empty) {
		md_buf_puts(out, " - -\n");
	} else {
		put_seconds(out, st->offset + st->begin);
		put_seconds(out, st->offset + st->end);
		md_buf_putc(out, '\n');
	}
	md_buf_puts(out, "# events count per_second\nevents");
	md_buf_printf(out, " %" PRIu64, st->tally.events);
	put_rate(out, st, st->tally.events);
	for (size_t i = 0; i < st->tally.count; i++)
		packets = add_saturated(packets,
					stream_losses(&st->tally.streams[i].stream).packets);
	md_buf_puts(out, "\n# lost discarded overwritten missed packets\nlost");
	if (st->pairs)
		md_buf_printf(out, " %" PRIu64 " %" PRIu64, st->counts.discarded,
			      st->counts.overwritten);
	else
		md_buf_puts(out, " - -");
	md_buf_printf(out, " %" PRIu64 " %" PRIu64 "\n", st->missed, packets);
}

/* ---- events ---- */

struct event_row { enum domain domain; const char *name; uint64_t count; };

static int compare_names(const void *a, const void *b)
{
	const struct event_row *x = a, *y = b;
	int c = compare_numbers(x->domain, y->domain);

	return c ? c : strcmp(x->name, y->name);
}

static int compare_counts(const void *a, const void *b)
{
	const struct event_row *x = a, *y = b;
	int c = compare_numbers(y->count, x->count);

	return c ? c : compare_names(a, b);
}

/* The events of all streams, each name of a domain once. Free the array; NULL: no memory. */
static struct event_row *take_rows(const struct tally *t, size_t *count)
{
	struct event_row *rows;
	size_t n = 0, used = 0;

	for (size_t i = 0; i < t->count; i++)
		n += t->streams[i].size;
	rows = calloc(n + 1, sizeof(*rows));
	for (size_t i = 0, j = 0; i < t->count && rows; i++)
		for (uint32_t id = 0; id < t->streams[i].size; id++) {
			const struct tally_event *e = &t->streams[i].events[id];

			if (e->count)
				rows[j++] = (struct event_row){ t->streams[i].domain,
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

static int print_events(const struct stats *st, struct md_buf *out)
{
	size_t count;
	struct event_row *rows = take_rows(&st->tally, &count);

	if (!rows)
		return -ENOMEM;
	md_buf_printf(out, "# event domain %12s %13s name\n", "count", "per_second");
	for (size_t i = 0; i < count; i++) {
		md_buf_printf(out, "event %-8s", domain_names[rows[i].domain]);
		put_number(out, 12, true, rows[i].count);
		put_rate(out, st, rows[i].count);
		put_name(rows[i].name, out);
		md_buf_putc(out, '\n');
	}
	free(rows);
	return 0;
}

/* ---- processes ---- */

static int compare_processes(const void *a, const void *b)
{
	const struct process *x = *(struct process *const *)a, *y = *(struct process *const *)b;
	int c = compare_numbers(y->events, x->events);

	return c ? c : compare_numbers((uintptr_t)x, (uintptr_t)y);
}

/* `others` are those that the table had no room for. */
static void put_process(const struct process *p, bool others, struct md_buf *out)
{
	put_number(out, 8, !others && p->pid >= 0, (uint64_t)p->pid);
	put_number(out, 8, !others && p->tid >= 0, (uint64_t)p->tid);
	put_name(others ? "others" : p->named ? p->name : NULL, out);
}

static int print_processes(const struct stats *st, struct md_buf *out)
{
	const struct tally *t = &st->tally;
	const struct process **rows = calloc(t->process_count + 1, sizeof(struct process *));
	uint32_t n = 0;

	if (!rows)
		return -ENOMEM;
	md_buf_printf(out, "# process domain %10s %13s %8s %8s procname\n", "count", "per_second",
		      "pid", "tid");
	for (uint32_t i = 0; i < t->process_count; i++)
		if (t->processes[i].events)
			rows[n++] = &t->processes[i];
	qsort(rows, n, sizeof(struct process *), compare_processes);
	for (uint32_t i = 0; i < n; i++) {
		bool others = rows[i] == t->processes;

		md_buf_printf(out, "process %-6s",
			      others ? "-" : domain_names[rows[i]->domain]);
		put_number(out, 12, true, rows[i]->events);
		put_rate(out, st, rows[i]->events);
		put_process(rows[i], others, out);
		md_buf_putc(out, '\n');
	}
	free(rows);
	return 0;
}

/* ---- pairs ---- */

static int compare_totals(const struct pair_times *x, const struct pair_times *y)
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

static void put_pair(const struct pair *p, struct md_buf *out)
{
	const struct pair_times *t = &p->times;
	bool known = t->count;
	enum pair_by by = p->of_threads && p->by != PAIR_FIELDS ? PAIR_THREAD : p->by;

	md_buf_printf(out, "pair %-6s %-6s", domain_names[p->domain], by_names[by]);
	put_number(out, 10, by != PAIR_UNKNOWN, t->count);
	put_number(out, 10, by != PAIR_UNKNOWN, p->begun - t->count);
	put_number(out, 10, by != PAIR_UNKNOWN, p->ended - t->count);
	put_time(out, known, t->total);
	put_time(out, known, known ? average(t) : 0);
	put_time(out, known, pair_percentile(p, 50));
	put_time(out, known, pair_percentile(p, 99));
	put_time(out, known, t->max);
	put_name(p->name, out);
	md_buf_putc(out, '\n');
}

static int print_pairs(const struct stats *st, struct md_buf *out)
{
	const struct pair **rows = calloc(st->pairs->count + 1, sizeof(struct pair *));
	uint32_t n = 0;

	if (!rows)
		return -ENOMEM;
	md_buf_printf(out, "# pair domain by %8s %10s %10s %13s %13s %13s %13s %13s name\n",
		      "count", "no_end", "no_begin", "total_us", "avg_us", "p50_us", "p99_us",
		      "max_us");
	for (uint32_t i = 0; i < st->pairs->count; i++)
		if (st->pairs->all[i].begun && st->pairs->all[i].ended)
			rows[n++] = &st->pairs->all[i];
	qsort(rows, n, sizeof(struct pair *), compare_pairs);
	for (uint32_t i = 0; i < n; i++)
		put_pair(rows[i], out);
	if (st->pairs->more)
		md_buf_printf(out, "# more than %u pairs: the others are left out\n", PAIRS_MAX);
	if (st->pairs->slices.dropped)
		md_buf_printf(out,
			      "# %" PRIu64 " begins without an end because events were "
			      "overwritten\n", st->pairs->slices.dropped);
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

static int print_pair_processes(const struct stats *st, struct md_buf *out)
{
	const struct pairs *p = st->pairs;
	const struct pair_process **rows =
		calloc(p->process_count + 1, sizeof(struct pair_process *));
	uint32_t n = 0;

	if (!rows)
		return -ENOMEM;
	md_buf_printf(out, "# pair_process domain %8s %13s %13s %13s %8s %8s procname name\n",
		      "count", "total_us", "avg_us", "max_us", "pid", "tid");
	for (uint32_t i = 0; i < PAIRS_PROCESSES; i++)
		if (p->processes[i].times.count)
			rows[n++] = &p->processes[i];
	qsort(rows, n, sizeof(struct pair_process *), compare_pair_processes);
	for (uint32_t i = 0; i < n; i++) {
		const struct pair_times *t = &rows[i]->times;

		md_buf_printf(out, "pair_process %-6s",
			      domain_names[p->all[rows[i]->pair].domain]);
		put_number(out, 10, true, t->count);
		put_time(out, true, t->total);
		put_time(out, true, average(t));
		put_time(out, true, t->max);
		put_process(&st->tally.processes[rows[i]->process], !rows[i]->process, out);
		put_name(p->all[rows[i]->pair].name, out);
		md_buf_putc(out, '\n');
	}
	if (p->left_out)
		md_buf_printf(out, "# %" PRIu64 " times of further processes are left out\n",
			      p->left_out);
	free(rows);
	return 0;
}

/* ---- callstacks ---- */

static int print_frames(const struct frames *f, struct md_buf *out)
{
	const struct frame **rows = calloc(FRAMES_MAX, sizeof(struct frame *));
	uint32_t n = rows ? frames_sort(f, rows) : 0;

	if (!rows)
		return -ENOMEM;
	md_buf_printf(out, "# stacks events\nstacks %" PRIu64 "\n", f->events);
	md_buf_printf(out, "# frame %12s %12s function file\n", "self", "total");
	for (uint32_t i = 0; i < n && i < FRAMES_SHOWN; i++) {
		md_buf_puts(out, "frame  ");
		put_number(out, 12, true, rows[i]->self);
		put_number(out, 12, true, rows[i]->total);
		put_name(rows[i]->symbol.name, out);
		put_name(rows[i]->symbol.object, out);
		md_buf_putc(out, '\n');
	}
	if (n > FRAMES_SHOWN || f->left_out)
		md_buf_printf(out, "# the others of %u functions are left out\n", n);
	free(rows);
	return 0;
}

int stats_print(const struct stats *st, struct md_buf *out)
{
	int ret;

	print_span(st, out);
	ret = print_events(st, out);
	if (!ret)
		ret = print_processes(st, out);
	if (!ret && st->pairs)
		ret = print_pairs(st, out);
	if (!ret && st->pairs)
		ret = print_pair_processes(st, out);
	if (!ret && st->frames)
		ret = print_frames(st->frames, out);
	return ret || !out->failed ? ret : -ENOMEM;
}
