/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page of a time line: page.html with the events in it, one a line. A line has these columns,
 * with tabs between them; texts are JSON without quotes, with `<` as an escape:
 *
 *   t TID PID NAME                     a track; again when its name changes
 *   b NS TID EVENT FIELDS SLICE        begins a slice; NS: since the event before
 *   e NS TID EVENT FIELDS              ends the innermost slice
 *   i NS TID EVENT FIELDS              an instant
 *   x NS TID                           ends a slice without an event of its own
 *   s NS TID EVENT FIELDS NEXT NAME    a CPU (its track) runs another thread; 0: none
 */
#include <inttypes.h>
#include <string.h>

#include "metadata/json.h"
#include "metadata/number.h"
#include "tracer/export/track.h"

__asm__(".section .rodata\n"
	"page_begin: .incbin \"tracer/export/page.html\"\n"
	"page_end: .byte 0\n"
	".previous\n");

extern const char page_begin[], page_end[];

#define EVENTS_HERE "@EVENTS@"

struct page {
	struct maker *m;
	uint64_t start, last;   /* times of the first event and of the last line */
};

/* Within a script element, `<` could end it. */
static void put_safe(struct md_buf *out, struct text text)
{
	const char *sign;

	while (text.n && (sign = memchr(text.p, '<', text.n))) {
		md_buf_put(out, text.p, (size_t)(sign - text.p));
		md_buf_puts(out, "\\u003c");
		text.n -= (size_t)(sign + 1 - text.p);
		text.p = sign + 1;
	}
	md_buf_put(out, text.p, text.n);
}

static struct md_buf *begin_line(struct page *v, char kind, uint64_t time, int32_t tid)
{
	struct md_buf *out = &v->m->out;
	char *o = md_buf_room(out, 64);

	if (!v->start)
		v->start = v->last = time;
	if (o) {
		*o++ = kind;
		*o++ = '\t';
		o = md_put_u64(o, time - v->last);
		*o++ = '\t';
		out->len = (size_t)(md_put_s32(o, tid) - out->data);
	}
	v->last = time;
	return out;
}

/* The event's name, and its fields with the contexts as the member `context`. */
static void put_event(struct md_buf *out, const struct track_name *event, const struct row *r)
{
	md_buf_putc(out, '\t');
	put_safe(out, event->json);
	md_buf_putc(out, '\t');
	put_safe(out, (struct text){ r->fields_json.p, r->fields_json.n - 1 });
	if (r->context_json.n > 2) {
		md_buf_puts(out, r->fields_json.n > 2 ? ",\"context\":" : "\"context\":");
		put_safe(out, r->context_json);
	}
	md_buf_putc(out, '}');
}

static void describe(void *arg, const struct timeline *t)
{
	struct page *v = arg;
	struct md_buf *out = &v->m->out;
	size_t at;

	md_buf_printf(out, "t\t%" PRId32 "\t%" PRId32 "\t", t->tid, t->pid);
	at = out->len;
	md_json_escape_put(t->name, t->name_len, out);
	/* A name of a thread in the middle of a line may not end the script. */
	for (; !out->failed && at < out->len; at++)
		if (out->data[at] == '<')
			out->data[at] = '(';
	md_buf_putc(out, '\n');
}

static void add_begin(void *arg, const struct mark *k)
{
	struct md_buf *out = begin_line(arg, 'b', k->time, k->track->tid);

	put_event(out, k->event, k->row);
	md_buf_putc(out, '\t');
	put_safe(out, k->name->json);
	md_buf_putc(out, '\n');
}

static void add_end(void *arg, const struct mark *k)
{
	struct md_buf *out = begin_line(arg, k->row ? 'e' : 'x', k->time, k->track->tid);

	if (k->row)
		put_event(out, k->event, k->row);
	md_buf_putc(out, '\n');
}

static void add_instant(void *arg, const struct mark *k)
{
	struct md_buf *out = begin_line(arg, 'i', k->time, k->track->tid);

	put_event(out, k->event, k->row);
	md_buf_putc(out, '\n');
}

static void add_switch(void *arg, const struct cpu_switch *w)
{
	struct md_buf text = MD_BUF_INIT;
	struct md_buf *out = begin_line(arg, 's', w->row->time, w->track->tid);

	put_event(out, w->event, w->row);
	md_buf_printf(out, "\t%" PRId64 "\t", w->next_tid > 0 ? w->next_tid : 0);
	if (w->next_name.p)
		md_json_escape_put(w->next_name.p, w->next_name.n, &text);
	put_safe(out, (struct text){ text.data, text.len });
	md_buf_deinit(&text);
	md_buf_putc(out, '\n');
}

void page_make(struct maker *m)
{
	static const struct track_form form = { .describe = describe, .begin = add_begin,
						.end = add_end, .instant = add_instant,
						.switched = add_switch, .json = true };
	struct page v = { .m = m };
	const char *here = strstr(page_begin, EVENTS_HERE);

	md_buf_put(&m->out, page_begin, (size_t)(here - page_begin));
	tracks_run(m, &form, &v);
	md_buf_printf(&m->out, "z\t%" PRIu64 "\n", v.start);
	here += strlen(EVENTS_HERE);
	md_buf_put(&m->out, here, (size_t)(page_end - here));
}
