/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page of a time line: page.html with the events in it, one a line, in blocks of BLOCK bytes: a
 * browser reads a block while it loads the next one. What repeats is written once. Columns have
 * tabs between them; texts and values are JSON, texts without quotes; `<` is an escape:
 *
 *   p PID NAME GROUP           a process, and its cgroup; again when they change
 *   t TRACK TID PID NAME OUT   a track; again when its name or process changes. OUT: 1 if inclusion
 *                              sets may leave the thread out, else 0
 *   d CLASS EVENT SLICE N SHOWN NAME…  an event class; N: how many of the fields are contexts;
 *                              SHOWN: a word for each, with blanks between them: xBITS
 *                              hexadecimal, d a device, - neither
 *   KIND CLASS NS TRACK VALUE… an event, the first columns without tabs: `b3 120 0`. NS: since the
 *                              event before. A capital KIND: the values of the contexts are before
 *                              those of the fields; else they are those of the last event of this
 *                              track that has a capital.
 *   n COUNTER PID NAME         a counter; PID: of its process
 *   v COUNTER VALUE            a value of the event before, without tabs: `v0 12`
 *   x NS TRACK                 where the innermost slice is cut, whose end is not known: `x120 0`
 *   l TRACK FROM TO TITLE      a loss on this track, NS since the first event, and what it is
 *   z START DROPPED LIVE TRACKED  the last line: the time of the first event, ns since the epoch;
 *                              how many begins are instants, as their ends were overwritten; of
 *                              live.html after how many ms a browser loads it again, else 0; and
 *                              how many begins are instants because of inclusion sets
 *   y NAMES                    the names of code addresses of the event before, as JSON
 *
 * KIND: b begins a slice, e ends the innermost one, i is an instant, c has counters; s: a CPU (the
 * track) runs another thread; w: … and it is not known how long.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/number.h"
#include "metadata/program.h"
#include "tracer/format/picture/html.h"
#include "tracer/format/picture/track.h"
#include "tracer/session/session.h"
#include "tracer/view/stack.h"

__asm__(".section .rodata\n"
	"page_begin: .incbin \"tracer/format/picture/page.html\"\n"
	"page_end: .byte 0\n"
	".previous\n");

extern const char page_begin[] __attribute__((visibility("hidden")));
extern const char page_end[] __attribute__((visibility("hidden")));

#define EVENTS_HERE "@EVENTS@"
#define BLOCK (1u << 20)
#define BLOCK_BEGIN "<script type=\"text/plain\">\n"
#define BLOCK_END "</script><script>take()</script>\n"

struct page {
	struct maker *m;
	uint64_t start, last;   /* times of the first event and the last line; valid if `begun` */
	bool begun;
	uint64_t block;         /* where the block begins in the file */
	struct md_buf text;     /* scratch */
};

/* The contexts of the last event of a track. */
struct last_context {
	const struct md_stream *stream; /* its names */
	size_t len;
	char text[];
};

static void put_text(struct page *v, const char *s, size_t n)
{
	html_put_text(&v->m->out, s, n, &v->text);
}

static void put_values(struct page *v, const struct md_value *values, uint32_t count)
{
	struct md_buf *out = &v->m->out;
	size_t text = SIZE_MAX; /* where what is no number begins */
	uint64_t n;
	char *o;

	for (uint32_t i = 0; i < count; i++) {
		o = md_buf_room(out, 24);
		if (!o)
			return;
		*o++ = '\t';
		out->len++;
		if (!values[i].p)
			continue;
		if (!md_type_is_number(values[i].type)) {
			text = text < out->len ? text : out->len;
			md_value_json(&values[i], out);
			continue;
		}
		md_value_integer(&values[i], &n);
		o = values[i].type->is_signed ? md_put_s64(o, (int64_t)n) : md_put_u64(o, n);
		out->len = (size_t)(o - out->data);
	}
	if (text < out->len)
		html_make_safe(out, text, &v->text);
}

/* Begins a block, and ends the one before. */
static void begin_block(struct page *v)
{
	struct md_buf *out = &v->m->out;

	if (v->block)
		md_buf_puts(out, BLOCK_END);
	md_buf_puts(out, BLOCK_BEGIN);
	v->block = v->m->file.size + out->len;
}

static struct md_buf *begin_line(struct page *v)
{
	if (v->m->file.size + v->m->out.len - v->block >= BLOCK)
		begin_block(v);
	return &v->m->out;
}

static void put_shown(struct md_buf *out, const struct md_event *class, const struct md_field *f,
		      const char *between)
{
	const struct md_type *t = f->type.element ? f->type.element : &f->type;
	enum row_shown shown = row_shown(class, f);

	md_buf_puts(out, between);
	md_buf_putc(out, "-xd"[shown]);
	if (shown == ROW_SHOWN_HEX)
		md_buf_printf(out, "%u", md_shown_bits(t));
}

static void add_classes(void *arg, const struct row *r, const struct track_name *event,
			const struct track_name *slice)
{
	uint32_t contexts = r->stream->context_count, count = contexts + r->class->field_count;
	struct page *v = arg;
	struct md_buf *out = begin_line(v);

	md_buf_printf(out, "d\t%" PRIu32 "\t", event->number);
	put_text(v, event->plain.p, event->plain.n);
	md_buf_putc(out, '\t');
	put_text(v, slice->plain.p, slice->plain.n);
	md_buf_printf(out, "\t%" PRIu32 "\t", contexts);
	for (uint32_t i = 0; i < count; i++)
		put_shown(out, r->class, row_field(r, i), i ? " " : "");
	for (uint32_t i = 0; i < count; i++) {
		md_buf_putc(out, '\t');
		put_text(v, r->names[i].p, r->names[i].n);
	}
	md_buf_putc(out, '\n');
}

static void describe_process(void *arg, const struct track_process *p)
{
	struct page *v = arg;
	struct md_buf *out = begin_line(v);

	md_buf_printf(out, "p\t%" PRId32 "\t", p->pid);
	put_text(v, p->name, p->name_len);
	md_buf_putc(out, '\t');
	put_text(v, p->group, p->group_len);
	md_buf_putc(out, '\n');
}

static void describe(void *arg, const struct timeline *t)
{
	struct page *v = arg;
	struct md_buf *out = begin_line(v);

	md_buf_printf(out, "t\t%" PRIu32 "\t%" PRId32 "\t%" PRId32 "\t", t->number,
		      t->slices.tid, t->pid);
	put_text(v, t->name, t->name_len);
	md_buf_puts(out, t->left_out ? "\t1\n" : "\t0\n");
}

/* Puts the contexts, and makes the KIND at `line` a capital, if the track had others before. */
static void put_contexts(struct page *v, size_t line, struct timeline *t, const struct row *r)
{
	struct md_buf *out = &v->m->out;
	struct last_context *last = t->note, *more;
	size_t at = out->len, n;

	if (!r->stream->context_count)
		return;
	put_values(v, r->context, r->stream->context_count);
	n = out->len - at;
	if (out->failed)
		return;
	if (last && last->stream == r->stream && last->len == n &&
	    !memcmp(last->text, out->data + at, n)) {
		out->len = at;
		return;
	}
	out->data[line] = (char)(out->data[line] - 'a' + 'A');
	more = last && last->len >= n ? last : realloc(last, sizeof(*more) + n);
	if (!more) {
		out->failed = true;
		return;
	}
	more->stream = r->stream;
	more->len = n;
	memcpy(more->text, out->data + at, n);
	t->note = more;
}

/* The line after that of the event, in the same block. */
static void put_names(struct page *v, const struct row *r)
{
	struct md_buf *out = &v->m->out;
	size_t before = out->len, at;

	if (!v->m->stacks)
		return;
	md_buf_puts(out, "y\t");
	at = out->len;
	stacks_put(v->m->stacks, session_clock_offset(v->m->s), r->cursor, STACKS_OBJECT, out);
	if (out->len == at) {
		out->len = before;
		return;
	}
	html_make_safe(out, at, &v->text);
	md_buf_putc(out, '\n');
}

static void begin_at(struct page *v, uint64_t time)
{
	if (!v->begun)
		v->start = v->last = time;
	v->begun = true;
}

static void put_event(struct page *v, char kind, struct timeline *t, const struct row *r,
		      uint64_t time, uint32_t class)
{
	struct md_buf *out = begin_line(v);
	size_t line = out->len;
	char *o = md_buf_room(out, 64);

	if (!o)
		return;
	begin_at(v, time);
	*o++ = kind;
	if (r) {
		o = md_put_u32(o, class);
		*o++ = ' ';
	}
	o = md_put_u64(o, time - v->last);
	*o++ = ' ';
	out->len = (size_t)(md_put_u32(o, t->number) - out->data);
	v->last = time;
	if (r) {
		put_contexts(v, line, t, r);
		put_values(v, r->fields, r->class->field_count);
	}
	md_buf_putc(out, '\n');
	if (r)
		put_names(v, r);
}

static void add_begin(void *arg, const struct mark *k)
{
	put_event(arg, 'b', k->track, k->row, k->time, k->event->number);
}

static void add_end(void *arg, const struct mark *k)
{
	put_event(arg, 'e', k->track, k->row, k->time, k->event->number);
}

static void add_cut(void *arg, const struct mark *k)
{
	put_event(arg, 'x', k->track, NULL, k->time, 0);
}

static void add_instant(void *arg, const struct mark *k)
{
	put_event(arg, 'i', k->track, k->row, k->time, k->event->number);
}

static void add_counted(void *arg, const struct mark *k)
{
	put_event(arg, 'c', k->track, k->row, k->time, k->event->number);
}

static void add_counter(void *arg, const struct mark *k, struct track_counter *c,
			const struct md_value *value)
{
	struct page *v = arg;
	struct md_buf *out = &v->m->out;
	char *o;

	(void)k;
	if (!c->described) {
		md_buf_printf(out, "n\t%" PRIu32 "\t%" PRId32 "\t", c->number, c->pid);
		put_text(v, c->plain.p, c->plain.n);
		md_buf_putc(out, '\n');
	}
	c->described = true;
	o = md_buf_room(out, 16);
	if (!o)
		return;
	*o++ = 'v';
	o = md_put_u32(o, c->number);
	*o++ = ' ';
	out->len = (size_t)(o - out->data);
	md_value_json(value, out);
	md_buf_putc(out, '\n');
}

static void add_switch(void *arg, const struct cpu_switch *w)
{
	put_event(arg, w->track->unknown ? 'w' : 's', w->track, w->row, w->row->time,
		  w->event->number);
}

static void add_lost(void *arg, struct timeline *t, const struct lost *l)
{
	uint64_t begin = lost_begin(l), end = l->loss.to;
	struct page *v = arg;
	struct md_buf *out;

	/* A page of the newest events has the newest losses. */
	if (v->m->from && end < v->m->clock_offset + v->m->from)
		return;
	out = begin_line(v);
	begin_at(v, begin);
	begin = begin < v->start ? v->start : begin;
	end = end < begin ? begin : end;
	md_buf_printf(out, "l\t%" PRIu32 "\t%" PRIu64 "\t%" PRIu64 "\t", t->number,
		      begin - v->start, end - v->start);
	md_loss_title(&l->loss, out);
	md_buf_putc(out, '\n');
}

void page_write(struct maker *m, unsigned int live)
{
	static const struct track_form form = { .classes = add_classes,
						.process = describe_process, .describe = describe,
						.begin = add_begin, .end = add_end, .cut = add_cut,
						.instant = add_instant, .switched = add_switch,
						.counted = add_counted, .counter = add_counter,
						.lose = add_lost };
	struct page v = { .m = m };
	const char *rest = html_begin(&m->out, page_begin, EVENTS_HERE);
	struct slices_dropped dropped;

	begin_block(&v);
	maker_names(m, false);
	dropped = tracks_run(m, &form, &v);
	md_buf_printf(&m->out, "z\t%" PRIu64 "\t%" PRIu64 "\t%u\t%" PRIu64 "\n" BLOCK_END, v.start,
		      dropped.overwritten, live, dropped.tracked);
	md_buf_put(&m->out, rest, (size_t)(page_end - rest));
	md_buf_deinit(&v.text);
}

void page_make(struct maker *m)
{
	page_write(m, 0);
}
