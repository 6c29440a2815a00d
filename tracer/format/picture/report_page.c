/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page of a report: report.html with what report.c has collected, as one object of JSON. Times
 * are ns since the first event, as in timeline.html, to which the page has links.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "tracer/format/picture/flame.h"
#include "tracer/format/picture/html.h"
#include "tracer/format/picture/report.h"
#include "tracer/session/session.h"

#define PATHS 20u               /* callstacks, or paths of slices */
#define PARTIES 20u             /* processes */
#define PATH_DEPTH 64u          /* frames that are shown of a path */

__asm__(".section .rodata\n"
	"report_begin: .incbin \"tracer/format/picture/report.html\"\n"
	"report_end: .byte 0\n"
	".previous\n");

extern const char report_begin[] __attribute__((visibility("hidden")));
extern const char report_end[] __attribute__((visibility("hidden")));

struct writer {
	struct report report;
	struct md_buf *out;
	struct md_buf scratch;
};

/* ---- JSON ---- */

static void put_string(struct writer *w, const char *s, size_t n)
{
	md_buf_putc(w->out, '"');
	html_put_text(w->out, s, n, &w->scratch);
	md_buf_putc(w->out, '"');
}

static void put_name(struct writer *w, size_t name, size_t len)
{
	put_string(w, len ? w->report.names.data + name : "", len);
}

static void put_lines(struct writer *w, struct md_buf *lines)
{
	put_string(w, md_buf_str(lines), lines->len);
	w->out->failed |= lines->failed;
	md_buf_reset(lines);
}

static uint64_t since(const struct writer *w, uint64_t time)
{
	return time > w->report.start ? time - w->report.start : 0;
}

/* ---- what was recorded ---- */

static void put_channels(struct writer *w, struct session *s)
{
	struct md_buf lines = MD_BUF_INIT;
	const char *comma = "";
	struct channel *c;

	md_buf_puts(w->out, ",\"channels\":[");
	pthread_mutex_lock(&s->tracer->lock);
	cds_list_for_each_entry(c, &s->channels, node) {
		md_buf_printf(w->out, "%s{\"domain\":\"%s\",\"name\":", comma,
			      c->kernel ? "kernel" : "user");
		put_string(w, c->name, strlen(c->name));
		md_buf_puts(w->out, ",\"rules\":");
		rule_list_print(&c->rules, &lines);
		put_lines(w, &lines);
		md_buf_puts(w->out, ",\"contexts\":");
		context_list_print(&c->contexts, &lines);
		put_lines(w, &lines);
		md_buf_putc(w->out, '}');
		comma = ",";
	}
	pthread_mutex_unlock(&s->tracer->lock);
	md_buf_putc(w->out, ']');
	md_buf_deinit(&lines);
}

static void put_origin(struct writer *w, struct session *s)
{
	const struct report *v = &w->report;
	const char *host = *v->host || s->input ? v->host : s->tracer->hostname;
	struct utsname kernel;

	md_buf_puts(w->out, "{\"session\":");
	put_string(w, s->name, strlen(s->name));
	md_buf_puts(w->out, ",\"host\":");
	put_string(w, host, strlen(host));
	if (s->input) {
		md_buf_puts(w->out, ",\"input\":");
		put_string(w, s->input, strlen(s->input));
	} else if (!uname(&kernel)) {
		md_buf_puts(w->out, ",\"kernel\":");
		put_string(w, kernel.release, strlen(kernel.release));
	}
	md_buf_printf(w->out,
		      ",\"start\":\"%" PRIu64 "\",\"last\":%" PRIu64 ",\"events\":%" PRIu64
		      ",\"dropped\":%" PRIu64 ",\"tracked\":%" PRIu64 ",\"step\":%" PRIu64
		      ",\"columns\":%u",
		      v->start, since(w, v->last), v->events, v->dropped.overwritten,
		      v->dropped.tracked, v->step, REPORT_COLUMNS);
	put_channels(w, s);
}

static void put_losses(struct writer *w)
{
	const struct report *v = &w->report;

	md_buf_puts(w->out, ",\"lost\":{");
	for (int k = 0; k < MD_LOSS_KINDS; k++)
		md_buf_printf(w->out, "\"%s\":%" PRIu64 ",",
			      md_loss_kind_name((enum md_loss_kind)k), v->lost[k]);
	md_buf_printf(w->out, "\"unknown\":%s,\"more\":%" PRIu64 "},\"losses\":[",
		      v->loss_unknown ? "true" : "false", v->loss_more);
	for (uint32_t i = 0; i < v->loss_count; i++) {
		const struct report_loss *l = &v->losses[i];

		md_buf_printf(w->out, "%s\n[%" PRIu64 ",%" PRIu64 ",", i ? "," : "",
			      since(w, l->begin), since(w, l->end));
		put_name(w, l->title, l->title_len);
		md_buf_putc(w->out, ',');
		put_name(w, l->stream, l->stream_len);
		md_buf_putc(w->out, ']');
	}
	md_buf_putc(w->out, ']');
}

static void put_events(struct writer *w)
{
	const struct report *v = &w->report;

	md_buf_puts(w->out, ",\"names\":[");
	for (uint32_t i = 0; i < v->name_count; i++) {
		const struct report_event *e = &v->by_name[i];

		md_buf_puts(w->out, i ? ",\n{\"name\":" : "\n{\"name\":");
		put_name(w, e->name, e->name_len);
		md_buf_printf(w->out, ",\"count\":%" PRIu64 ",\"at\":[", e->count);
		for (uint32_t k = 0; k < REPORT_COLUMNS; k++)
			md_buf_printf(w->out, "%s%" PRIu32, k ? "," : "", e->columns[k]);
		md_buf_puts(w->out, "]}");
	}
	md_buf_putc(w->out, ']');
}

/* ---- slices ---- */

/* Of the histogram and of the heat map what is not 0: the index or indices, and the number. */
static void put_shape(struct writer *w, const struct report_kind *k)
{
	const char *comma = "";

	md_buf_puts(w->out, ",\"levels\":[");
	for (uint32_t level = 0; level < REPORT_LEVELS; level++) {
		uint64_t n = 0;

		for (uint32_t c = 0; c < REPORT_COLUMNS; c++)
			n += k->heat[c * REPORT_LEVELS + level];
		if (n)
			md_buf_printf(w->out, "%s[%" PRIu32 ",%" PRIu64 "]", comma, level, n);
		comma = n ? "," : comma;
	}
	md_buf_puts(w->out, "],\"heat\":[");
	comma = "";
	for (uint32_t i = 0; i < REPORT_COLUMNS * REPORT_LEVELS; i++) {
		if (k->heat[i])
			md_buf_printf(w->out, "%s%" PRIu32 ",%" PRIu32 ",%" PRIu32, comma,
				      i / REPORT_LEVELS, i % REPORT_LEVELS, k->heat[i]);
		comma = k->heat[i] ? "," : comma;
	}
	md_buf_putc(w->out, ']');
}

static void put_kind(struct writer *w, const struct report_kind *k)
{
	static const unsigned int permille[] = { 500, 900, 990, 999 };
	struct report *v = &w->report;

	md_buf_puts(w->out, "\n{\"name\":");
	put_name(w, k->name, k->name_len);
	md_buf_printf(w->out,
		      ",\"count\":%" PRIu64 ",\"total\":%" PRIu64 ",\"max\":%" PRIu64
		      ",\"no_end\":%" PRIu64 ",\"percentiles\":[",
		      k->times.count, k->times.total, k->times.max, k->no_end);
	for (size_t i = 0; i < sizeof(permille) / sizeof(*permille); i++)
		md_buf_printf(w->out, "%s%" PRIu64, i ? "," : "",
			      times_percentile(&k->times, k->histogram, permille[i]));
	md_buf_puts(w->out, "],\"slowest\":[");
	for (uint32_t i = 0; i < k->slow_count; i++) {
		const struct report_slow *s = &k->slowest[i];
		struct report_party *p = report_find(v, &v->tracks, s->tid);

		md_buf_printf(w->out, "%s[%" PRIu64 ",%" PRIu64 ",%" PRId32 ",", i ? "," : "",
			      since(w, s->begin), s->ns, s->tid);
		put_name(w, p ? p->name : 0, p ? p->name_len : 0);
		md_buf_putc(w->out, ']');
	}
	md_buf_putc(w->out, ']');
	if (k->heat)
		put_shape(w, k);
	md_buf_putc(w->out, '}');
}

static void put_kinds(struct writer *w)
{
	const char *comma = "";

	md_buf_puts(w->out, ",\"levels\":[");
	for (uint32_t level = 0; level < REPORT_LEVELS; level++)
		md_buf_printf(w->out, "%s%" PRIu64, level ? "," : "", report_level_begin(level));
	md_buf_puts(w->out, "],\"kinds\":[");
	for (uint32_t i = 0; i < w->report.kind_count; i++) {
		const struct report_kind *k = &w->report.kinds[i];

		if (!k->times.count && !k->no_end)
			continue;
		md_buf_puts(w->out, comma);
		put_kind(w, k);
		comma = ",";
	}
	md_buf_putc(w->out, ']');
}

/* ---- pauses, processes, paths ---- */

static void put_pauses(struct writer *w, const char *member, const struct report_best *best)
{
	struct report *v = &w->report;

	md_buf_printf(w->out, ",\"%s\":[", member);
	for (uint32_t i = 0; i < best->count; i++) {
		const struct report_pause *p = &best->all[i];
		const struct report_event *before = &v->by_name[p->before],
					  *after = &v->by_name[p->after];
		const struct report_party *t = p->tid ? report_find(v, &v->tracks, p->tid) : NULL;

		md_buf_printf(w->out, "%s\n[%" PRIu64 ",%" PRIu64 ",%" PRId32 ",", i ? "," : "",
			      since(w, p->from), p->ns, p->tid);
		put_name(w, t ? t->name : 0, t ? t->name_len : 0);
		md_buf_putc(w->out, ',');
		put_name(w, before->name, before->name_len);
		md_buf_putc(w->out, ',');
		put_name(w, after->name, after->name_len);
		md_buf_putc(w->out, ']');
	}
	md_buf_putc(w->out, ']');
}

static int compare_parties(const void *a, const void *b)
{
	const struct report_party *x = a, *y = b;
	uint64_t more = y->events + y->cpu, less = x->events + x->cpu;

	if (x->events != y->events)
		return x->events < y->events ? 1 : -1;
	return more == less ? (x->id > y->id) - (x->id < y->id) : more > less ? 1 : -1;
}

static void put_processes(struct writer *w)
{
	struct report_parties *all = &w->report.processes;
	const char *comma = "";
	uint32_t shown = 0, left = 0;
	bool events = false;

	if (all->table.count)
		qsort(all->all, all->table.count, sizeof(*all->all), compare_parties);
	for (uint32_t i = 0; i < all->table.count; i++)
		events |= all->all[i].id < SLICE_CPUS && all->all[i].events;
	md_buf_puts(w->out, ",\"processes\":[");
	for (uint32_t i = 0; i < all->table.count; i++) {
		const struct report_party *p = &all->all[i];

		/* Where all events are switches, which are on CPUs, the threads have times. */
		if (p->id >= SLICE_CPUS || !(events ? p->events : p->cpu))
			continue;
		if (shown == PARTIES) {
			left++;
			continue;
		}
		shown++;
		md_buf_printf(w->out, "%s\n[%" PRId32 ",", comma, p->id);
		put_name(w, p->name, p->name_len);
		md_buf_putc(w->out, ',');
		put_name(w, p->group, p->group_len);
		md_buf_printf(w->out,
			      ",%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", p->threads,
			      p->events, p->slices, p->cpu);
		comma = ",";
	}
	md_buf_printf(w->out, "],\"processes_more\":%" PRIu32 ",\"switches\":%s", left,
		      w->report.cpu_count ? "true" : "false");
}

/* The frames of the largest self times, the largest first. Returns their number. */
static uint32_t find_paths(const struct flame *f, uint32_t best[PATHS])
{
	uint32_t count = 0, i;

	for (uint32_t k = 1; k < f->table.count; k++) {
		uint64_t self = flame_self(f, &f->nodes[k]);

		if (!self || (count == PATHS &&
			      self <= flame_self(f, &f->nodes[best[PATHS - 1]])))
			continue;
		i = count < PATHS ? count++ : PATHS - 1;
		for (; i && flame_self(f, &f->nodes[best[i - 1]]) < self; i--)
			best[i] = best[i - 1];
		best[i] = k;
	}
	return count;
}

static void put_path(struct writer *w, const struct flame *f, const struct flame_node *k)
{
	md_buf_printf(w->out, "[%" PRIu64 ",%" PRIu64, flame_self(f, k), k->total);
	for (uint32_t n = 0; n < PATH_DEPTH; n++) {
		md_buf_putc(w->out, ',');
		put_string(w, f->names.data + k->name, k->name_len);
		if (!k->parent)
			break;
		k = &f->nodes[k->parent];
	}
	md_buf_putc(w->out, ']');
}

static void put_paths(struct writer *w, struct maker *m)
{
	uint32_t best[PATHS], count = 0;
	struct flame f;

	flame_collect(&f, m);
	if (!m->err)
		count = find_paths(&f, best);
	md_buf_printf(w->out, ",\"by_stack\":%s,\"paths_total\":%" PRIu64 ",\"paths\":[",
		      f.by_stack ? "true" : "false", m->err ? 0 : f.nodes[0].total);
	for (uint32_t i = 0; i < count; i++) {
		md_buf_puts(w->out, i ? ",\n" : "\n");
		put_path(w, &f, &f.nodes[best[i]]);
	}
	md_buf_putc(w->out, ']');
	flame_deinit(&f);
}

void report_make(struct maker *m)
{
	struct writer w = { .out = &m->out };
	const char *rest = html_begin(&m->out, report_begin, "@DATA@");

	m->runs = 2;
	report_collect(&w.report, m);
	if (!m->err) {
		put_origin(&w, m->s);
		put_losses(&w);
		put_events(&w);
		put_kinds(&w);
		put_pauses(&w, "pauses", &w.report.pauses);
		put_pauses(&w, "thread_pauses", &w.report.thread_pauses);
		put_processes(&w);
		put_paths(&w, m);
		md_buf_putc(w.out, '}');
		md_buf_put(&m->out, rest, (size_t)(report_end - rest));
	}
	report_deinit(&w.report);
	md_buf_deinit(&w.scratch);
}
