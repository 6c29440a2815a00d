/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flame graph as SVG, of callstacks or of slices.
 *
 * If events have callstacks, a frame is a function in its callers, on the event's process, and its
 * width is the number of events with that path.
 *
 * Else a frame is a slice in the slices around it; its width is the time of all slices with that
 * path, of all threads with the same name. Slices of lttng_ust_cyg_profile are functions. What the
 * frames on a frame leave free is its self time.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"
#include "tracer/base/hash.h"
#include "tracer/format/export/track.h"
#include "tracer/view/stack.h"

#define NODES_MAX 16384u        /* the time of further paths counts as self time of their parents */
#define TABLE (2 * NODES_MAX)   /* a power of two */
#define NONE UINT32_MAX
#define WIDTH 1200.0            /* of the picture, in units of the SVG */
#define ROW 18
#define TOP 46                  /* above the frames: the heading */
#define LETTER 7.3              /* the width of a letter */
#define NARROW 0.3              /* narrower frames are left out */

struct node {
	uint32_t child, next;   /* NONE: no more */
	uint32_t parent;
	uint64_t hash;          /* of the path */
	uint64_t total, inner;  /* ns or events; inner: of the frames on it */
	uint64_t count;         /* slices */
	size_t name, name_len;  /* in flame.names */
};

struct flame {
	struct maker *m;
	bool by_stack;          /* numbers are events, not ns */
	struct stack stack;     /* of the current event */
	struct md_buf name;     /* of the current frame */
	struct node *nodes;     /* node 0: all */
	uint32_t count;
	uint32_t *table;        /* numbers of nodes by hash, open addressing; 0: free */
	struct md_buf names;
};

/* ---- the tree ---- */

/* The child of this name, a new one if there is none. NONE: there is no room. */
static uint32_t find_child(struct flame *v, uint32_t parent, const char *name, size_t n)
{
	uint64_t hash = hash_bytes(hash_step(v->nodes[parent].hash, '/'), name, n);
	uint32_t i = (uint32_t)(hash ^ hash >> 32);
	struct node *k;

	for (; v->table[i & (TABLE - 1)]; i++)
		if (v->nodes[v->table[i & (TABLE - 1)]].hash == hash)
			return v->table[i & (TABLE - 1)];
	if (v->count == NODES_MAX)
		return NONE;
	k = &v->nodes[v->count];
	*k = (struct node){ .parent = parent, .child = NONE, .hash = hash,
			    .next = v->nodes[parent].child, .name = v->names.len, .name_len = n };
	md_buf_put(&v->names, name, n);
	v->nodes[parent].child = v->count;
	v->table[i & (TABLE - 1)] = v->count;
	return v->count++;
}

static uint32_t find_symbol(struct flame *v, uint32_t parent, const struct symbol *symbol)
{
	struct md_buf *name = &v->name;
	const char *object = symbol->object ? symbol->object : "[unknown]";

	/* Names of files and functions may have any bytes. */
	md_buf_reset(name);
	if (!symbol->name && *object != '[')
		md_buf_putc(name, '[');
	md_name_event(symbol->name ? symbol->name : object, name);
	if (!symbol->name && *object != '[')
		md_buf_putc(name, ']');
	return name->failed ? NONE : find_child(v, parent, name->data, name->len);
}

/* The child for the function that the event says was entered. */
static uint32_t find_function(struct flame *v, uint32_t parent, const struct mark *k)
{
	int i = row_find(k->row->class->fields, k->row->class->field_count, "addr");
	struct symbol symbol;
	uint64_t address;

	if (i < 0 || !md_value_integer(&k->row->fields[i], &address) || !maker_names(v->m, true))
		return find_child(v, parent, k->name->plain.p, k->name->plain.n);
	stacks_find(v->m->stacks, session_clock_offset(v->m->s), k->row->cursor, address, &symbol);
	return find_symbol(v, parent, &symbol);
}

static bool is_function(const struct row *r)
{
	return !strncmp(r->class->name, "lttng_ust_cyg_profile", 21);
}

static void add_begin(void *arg, const struct mark *k)
{
	const struct timeline *t = k->track;
	struct flame *v = arg;
	uint32_t parent;

	if (t->depth > 1)
		parent = k->slice[-1].mark;
	else if (t->name_len)
		parent = find_child(v, 0, t->name, t->name_len);
	else
		parent = find_child(v, 0, "?", 1);
	k->slice->mark = NONE;
	if (parent == NONE)
		return;
	if (is_function(k->row))
		k->slice->mark = find_function(v, parent, k);
	else
		k->slice->mark = find_child(v, parent, k->name->plain.p, k->name->plain.n);
}

static void add_end(void *arg, const struct mark *k)
{
	uint64_t time = k->time - k->slice->begin;
	struct flame *v = arg;
	uint32_t i = k->slice->mark, parent;

	if (i == NONE)
		return;
	parent = v->nodes[i].parent;
	v->nodes[i].total += time;
	v->nodes[i].count++;
	v->nodes[parent].inner += time;
	/* A thread's name and `all` have the time of what is on them. */
	if (k->track->depth == 1) {
		v->nodes[parent].total += time;
		v->nodes[0].total += time;
	}
}

/* The frame on which the event's stack stands: its process. */
static uint32_t find_process(struct flame *v, const struct row *r)
{
	int i = row_find(r->stream->context, r->stream->context_count, "procname");
	struct text name;

	if (i < 0 || !md_value_string(&r->context[i], &name.p, &name.n) || !name.n)
		return 0;
	md_buf_reset(&v->name);
	md_value_put_text(name.p, name.n, &v->name);
	return v->name.failed ? NONE : find_child(v, 0, v->name.data, v->name.len);
}

static void add_stack(void *arg, const struct row *r)
{
	struct flame *v = arg;
	uint32_t parent, i = 0;

	if (r->torn || !stacks_has(r->stream) ||
	    !stacks_read(v->m->stacks, session_clock_offset(v->m->s), r->cursor, &v->stack))
		return;
	v->nodes[0].total++;
	for (uint32_t n = v->stack.count + 1; n-- > 0; i = parent) {
		parent = n == v->stack.count ? find_process(v, r)
					     : find_symbol(v, i, &v->stack.frames[n]);
		if (parent == NONE)
			return;
		if (parent == 0)        /* no process is known */
			continue;
		v->nodes[i].inner++;
		v->nodes[parent].total++;
	}
}

/* ---- the picture ---- */

/* At most `most` characters, escaped for XML; control characters are not allowed there. */
static void put_text(struct md_buf *out, const char *s, size_t n, size_t most)
{
	size_t characters = 0, i, end = n;

	for (i = 0; i < n; i++)
		characters += (s[i] & 0xc0) != 0x80;
	if (characters > most)
		for (end = 0, characters = 0; end < n; end++)
			if ((s[end] & 0xc0) != 0x80 && ++characters == most)
				break;
	for (i = 0; i < end; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '&' || c == '<' || c == '>' || c == '"')
			md_buf_printf(out, "&#%d;", c);
		else
			md_buf_putc(out, c < 0x20 ? ' ' : (char)c);
	}
	if (end < n)
		md_buf_puts(out, "…");
}

/* Nanoseconds, or a number of events. */
static void put_amount(const struct flame *v, uint64_t ns)
{
	struct md_buf *out = &v->m->out;

	if (v->by_stack)
		md_buf_printf(out, "%" PRIu64 " event%s", ns, ns == 1 ? "" : "s");
	else if (ns >= 1000000000)
		md_buf_printf(out, "%.3f s", (double)ns / 1e9);
	else if (ns >= 1000000)
		md_buf_printf(out, "%.3f ms", (double)ns / 1e6);
	else
		md_buf_printf(out, "%.3f us", (double)ns / 1e3);
}

static double width_of(const struct flame *v, uint64_t ns)
{
	return WIDTH * (double)ns / (double)v->nodes[0].total;
}

/* The name and the amounts of a frame, with `between` before each amount. */
static void put_details(const struct flame *v, const struct node *k, const char *between)
{
	uint64_t self = k->total > k->inner ? k->total - k->inner : 0;
	struct md_buf *out = &v->m->out;

	put_text(out, v->names.data + k->name, k->name_len, 1000);
	md_buf_printf(out, "%stotal ", between);
	put_amount(v, k->total);
	md_buf_printf(out, ", %.2f %%%sself ",
		      100 * (double)k->total / (double)v->nodes[0].total, between);
	put_amount(v, k->count || v->by_stack ? self : 0);
	if (k->count) {
		md_buf_printf(out, "%s%" PRIu64 " times, mean ", between, k->count);
		put_amount(v, k->total / k->count);
	}
}

/* The details are a title under the pointer, and a line at the top while a frame has the focus. */
static void put_frame(struct flame *v, const struct node *k, double x, double width, uint32_t y)
{
	const char *name = v->names.data + k->name;
	struct md_buf *out = &v->m->out;
	size_t letters = width > 2 * LETTER ? (size_t)((width - 6) / LETTER) : 0;

	md_buf_puts(out, "<g tabindex=\"0\"><title>");
	put_details(v, k, "&#10;");
	md_buf_printf(out,
		      "</title><rect x=\"%.2f\" y=\"%" PRIu32 "\" width=\"%.2f\" height=\"%d\" "
		      "class=\"c%u\"/>",
		      x, y, width > 0.6 ? width - 0.5 : width, ROW - 1,
		      (unsigned int)(hash_bytes(HASH_START, name, k->name_len) >> 7) % 6);
	if (letters > 1) {
		md_buf_printf(out, "<text x=\"%.2f\" y=\"%" PRIu32 "\">", x + 3, y + 13);
		put_text(out, name, k->name_len, letters);
		md_buf_puts(out, "</text>");
	}
	md_buf_puts(out, "<text class=\"d\" x=\"6\" y=\"36\">");
	put_details(v, k, "; ");
	md_buf_puts(out, "</text></g>\n");
}

static uint32_t measure_depth(const struct flame *v, uint32_t i)
{
	uint32_t most = 0;

	for (uint32_t c = v->nodes[i].child; c != NONE; c = v->nodes[c].next) {
		if (width_of(v, v->nodes[c].total) >= NARROW) {
			uint32_t depth = 1 + measure_depth(v, c);

			most = depth > most ? depth : most;
		}
	}
	return most;
}

/* The frames on frame i, which begins at x; y: of their row. Slices may have other ones' time. */
static void put_children(struct flame *v, uint32_t i, double x, uint32_t y)
{
	for (uint32_t c = v->nodes[i].child; c != NONE; c = v->nodes[c].next) {
		double width = width_of(v, v->nodes[c].total);

		if (width < NARROW)
			continue;
		put_frame(v, &v->nodes[c], x, width, y);
		put_children(v, c, x, y - ROW);
		x += width;
	}
}

static const char style[] =
	"<style>\n"
	"svg { background: #fff; font: 12px monospace }\n"
	"text { fill: #111; pointer-events: none }\n"
	"g:hover rect, g:focus rect { stroke: #111 }\n"
	"g { outline: none } .d { display: none } g:focus .d { display: inline }\n"
	".c0 { fill: #f5a26b } .c1 { fill: #f2c14e } .c2 { fill: #f78f8f }\n"
	".c3 { fill: #e8b07a } .c4 { fill: #efd27a } .c5 { fill: #f0a58f }\n"
	"@media (prefers-color-scheme: dark) {\n"
	"svg { background: #16181d } text { fill: #f2f2f2 } "
	"g:hover rect, g:focus rect { stroke: #fff }\n"
	".c0 { fill: #9a4f1c } .c1 { fill: #80611a } .c2 { fill: #93363a }\n"
	".c3 { fill: #7d5227 } .c4 { fill: #6d5d22 } .c5 { fill: #8a4433 }\n"
	"}\n"
	"</style>\n";

static void put_picture(struct flame *v)
{
	struct md_buf *out = &v->m->out;
	uint32_t rows = v->nodes[0].total ? measure_depth(v, 0) : 0;
	uint32_t height = TOP + (rows + 1) * ROW + 10;

	if (!v->by_stack)
		v->nodes[0].inner = v->nodes[0].total;
	md_buf_printf(out,
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %" PRIu32 "\" "
		      "width=\"100%%\" preserveAspectRatio=\"xMidYMin\" role=\"img\" "
		      "aria-label=\"flame graph\">\n%s",
		      (int)WIDTH, height, style);
	md_buf_puts(out, "<text x=\"6\" y=\"22\">");
	if (!v->nodes[0].total) {
		md_buf_puts(out, v->by_stack ? "No event has a callstack.</text>\n</svg>\n" :
				 "No slices: no two events whose names end with begin and end, or "
				 "entry and exit.</text>\n</svg>\n");
		return;
	}
	md_buf_puts(out, v->by_stack ? "By callstack: " : "Time in slices, of all threads: ");
	put_amount(v, v->nodes[0].total);
	md_buf_puts(out, "</text>\n");
	put_frame(v, &v->nodes[0], 0, WIDTH, TOP + rows * ROW);
	put_children(v, 0, 0, TOP + (rows - 1) * ROW);
	md_buf_puts(out, "</svg>\n");
}

void flame_make(struct maker *m)
{
	static const struct track_form form = { .begin = add_begin, .end = add_end,
						.close_open = true };
	struct flame v = { .m = m, .count = 1 };

	v.nodes = calloc(NODES_MAX, sizeof(*v.nodes));
	v.table = calloc(TABLE, sizeof(*v.table));
	if (!v.nodes || !v.table) {
		m->err = -ENOMEM;
		goto out;
	}
	md_buf_puts(&v.names, "all");
	v.nodes[0] = (struct node){ .child = NONE, .next = NONE, .hash = HASH_START,
				    .name_len = 3 };
	v.by_stack = maker_names(m, false);
	if (v.by_stack)
		maker_run(m, ROW_VALUES, add_stack, &v);
	else if (!m->err)
		tracks_run(m, &form, &v);
	m->out.failed |= v.names.failed;
	if (!m->err && !m->out.failed)
		put_picture(&v);
out:
	free(v.nodes);
	free(v.table);
	md_buf_deinit(&v.names);
	md_buf_deinit(&v.name);
}
