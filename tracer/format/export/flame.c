/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flame graph as SVG, of callstacks or of slices.
 *
 * If events have callstacks, a frame is a function in its callers, on the event's process, and its
 * width is the number of events with that path.
 *
 * Else a frame is a slice in the slices around it; its width is the time of all slices with that
 * path, of all threads with the same name. What the frames on a frame leave free is its self time.
 * A slice without an end has the time of the slices in it alone.
 *
 * flame.folded has the same frames as lines of text: the path and the self time. flame.js is in the
 * picture.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"
#include "tracer/base/hash.h"
#include "tracer/format/export/flame_parts.h"
#include "tracer/format/export/track.h"
#include "tracer/view/stack.h"

#define NODES_MAX 16384u        /* the time of further paths counts as self time of their parents */
#define TABLE (2 * NODES_MAX)   /* a power of two */
#define NONE UINT32_MAX
#define WIDTH 1200.0            /* of the picture, in units of the SVG */
#define ROW 18
#define TOP 62                  /* above the frames: the heading */
#define LETTER 7.3              /* the width of a letter */
#define NARROW 0.012            /* narrower frames are left out: a zoom shows the others */
#define PIECE (256u << 10)

struct node {
	uint32_t child, next;   /* NONE: no more */
	uint32_t parent;
	uint64_t hash;          /* of the path */
	uint64_t total, inner;  /* ns or events; inner: of the frames on it */
	uint64_t count;         /* slices */
	size_t name, name_len;  /* in flame.names */
};

__asm__(".section .rodata\n"
	"flame_script: .incbin \"tracer/format/export/flame.js\"\n"
	"flame_script_end: .byte 0\n"
	".previous\n");

extern const char flame_script[], flame_script_end[];

struct place {                  /* of a frame in the picture */
	uint64_t begin;         /* ns or events left of it */
	uint32_t depth, y;
};

struct flame {
	struct maker *m;
	bool by_stack;          /* numbers are events, not ns */
	uint64_t dropped;       /* begins whose ends were overwritten */
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

static uint32_t find_thread(struct flame *v, const struct timeline *t)
{
	return t->name_len ? find_child(v, 0, t->name, t->name_len) : find_child(v, 0, "?", 1);
}

static void add_begin(void *arg, const struct mark *k)
{
	const struct slice *outer = track_outer(k->track, k->slice);
	struct flame *v = arg;
	uint32_t parent = outer ? outer->mark : find_thread(v, k->track);

	k->slice->mark = parent == NONE ? NONE
					: find_child(v, parent, k->name->plain.p, k->name->plain.n);
}

/* The slice adds this time to its frame, to the one below it and to the slice around it. */
static void add_time(struct flame *v, const struct mark *k, uint64_t time)
{
	struct slice *outer = track_outer(k->track, k->slice);
	uint32_t i = k->slice->mark, parent;

	if (i == NONE)
		return;
	parent = v->nodes[i].parent;
	v->nodes[i].total += time;
	v->nodes[parent].inner += time;
	if (outer) {
		outer->inner += time;
		return;
	}
	/* A thread's name and `all` have the time of what is on them. */
	v->nodes[parent].total += time;
	v->nodes[0].total += time;
}

static void add_end(void *arg, const struct mark *k)
{
	struct flame *v = arg;

	if (k->slice->mark != NONE)
		v->nodes[k->slice->mark].count++;
	add_time(v, k, k->time - k->slice->begin);
}

/* How long a slice without an end lasted is not known: its frame carries those on it. */
static void add_unended(void *arg, const struct mark *k)
{
	add_time(arg, k, k->slice->inner);
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

/* Whether a character controls the direction of text, and would move what is beside it. */
static bool turns_text(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;

	if (n >= 2 && p[0] == 0xd8 && p[1] == 0x9c)     /* U+061C */
		return true;
	if (n < 3 || p[0] != 0xe2)
		return false;
	/* U+200E, 200F, 202A to 202E, 2066 to 2069 */
	return (p[1] == 0x80 && (p[2] == 0x8e || p[2] == 0x8f || (p[2] >= 0xaa && p[2] <= 0xae))) ||
	       (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9);
}

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

		if (turns_text(s + i, end - i)) {
			md_buf_puts(out, "\357\277\275");    /* U+FFFD */
			i += c == 0xe2 ? 2 : 1;
		} else if (c == '&' || c == '<' || c == '>' || c == '"') {
			md_buf_printf(out, "&#%d;", c);
		} else {
			md_buf_putc(out, c < 0x20 ? ' ' : (char)c);
		}
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

static uint64_t self_of(const struct flame *v, const struct node *k)
{
	bool own = k->count || v->by_stack;

	return own && k->total > k->inner ? k->total - k->inner : 0;
}

/* The name and the amounts of a frame, with `between` before each amount. */
static void put_details(const struct flame *v, const struct node *k, const char *between)
{
	const struct node *parent = &v->nodes[k->parent];
	struct md_buf *out = &v->m->out;

	put_text(out, v->names.data + k->name, k->name_len, 1000);
	md_buf_printf(out, "%stotal ", between);
	put_amount(v, k->total);
	md_buf_printf(out, ", %.2f %%", 100 * (double)k->total / (double)v->nodes[0].total);
	if (k->parent && parent->total)
		md_buf_printf(out, ", %.2f %% of its parent",
			      100 * (double)k->total / (double)parent->total);
	md_buf_printf(out, "%sself ", between);
	put_amount(v, self_of(v, k));
	if (k->count) {
		md_buf_printf(out, "%s%" PRIu64 " times, mean ", between, k->count);
		put_amount(v, k->total / k->count);
	}
}

/* The details are a title under the pointer; the script shows them at the top, too. */
static void put_frame(struct flame *v, const struct node *k, const struct place *at)
{
	const char *name = v->names.data + k->name;
	struct md_buf *out = &v->m->out;
	double x = width_of(v, at->begin), width = width_of(v, k->total);
	size_t letters = width > 2 * LETTER ? (size_t)((width - 6) / LETTER) : 0;

	md_buf_printf(out,
		      "<g class=\"f\" tabindex=\"0\" data-b=\"%" PRIu64 "\" data-t=\"%" PRIu64
		      "\" data-d=\"%" PRIu32 "\"><title>", at->begin, k->total, at->depth);
	put_details(v, k, "&#10;");
	md_buf_printf(out,
		      "</title><rect x=\"%.2f\" y=\"%" PRIu32 "\" width=\"%.2f\" height=\"%d\" "
		      "class=\"c%u\"/>",
		      x, at->y, width > 0.6 ? width - 0.5 : width, ROW - 1,
		      (unsigned int)(hash_bytes(HASH_START, name, k->name_len) >> 7) % 6);
	if (letters > 1) {
		md_buf_printf(out, "<text x=\"%.2f\" y=\"%" PRIu32 "\">", x + 3, at->y + 13);
		put_text(out, name, k->name_len, letters);
		md_buf_puts(out, "</text>");
	}
	md_buf_puts(out, "</g>\n");
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

/* The frames on frame i. Slices may have other ones' time. */
static void put_children(struct flame *v, uint32_t i, const struct place *below)
{
	struct place at = { below->begin, below->depth + 1, below->y - ROW };

	for (uint32_t c = v->nodes[i].child; c != NONE; c = v->nodes[c].next) {
		if (width_of(v, v->nodes[c].total) < NARROW)
			continue;
		put_frame(v, &v->nodes[c], &at);
		put_children(v, c, &at);
		at.begin += v->nodes[c].total;
	}
}

static void put_empty(struct flame *v, const char *text)
{
	md_buf_printf(&v->m->out, "<text x=\"6\" y=\"26\">%s</text>\n</svg>\n", text);
}

static void put_picture(struct flame *v)
{
	struct md_buf *out = &v->m->out;
	uint32_t rows = v->nodes[0].total ? measure_depth(v, 0) : 0;
	struct place at = { .y = TOP + rows * ROW };

	md_buf_printf(out,
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %" PRIu32 "\" "
		      "width=\"100%%\" preserveAspectRatio=\"xMidYMin\" "
		      "aria-label=\"flame graph\">\n%s",
		      (int)WIDTH, at.y + ROW + 10, style);
	if (!v->nodes[0].total) {
		put_empty(v, v->by_stack ? "No event has a callstack."
					 : "No slices: no two events whose names end with begin "
					   "and end, or entry and exit.");
		return;
	}
	md_buf_puts(out, "<text x=\"6\" y=\"26\">");
	md_buf_puts(out, v->by_stack ? "By callstack: " : "Time in slices, of all threads: ");
	put_amount(v, v->nodes[0].total);
	if (v->dropped)
		md_buf_printf(out,
			      "; without %" PRIu64 " begins whose ends were overwritten",
			      v->dropped);
	md_buf_puts(out, "</text>\n");
	md_buf_puts(out, tools);
	put_frame(v, &v->nodes[0], &at);
	put_children(v, 0, &at);
	md_buf_puts(out, "<script><![CDATA[\n");
	md_buf_put(out, flame_script, (size_t)(flame_script_end - flame_script));
	md_buf_puts(out, "]]></script>\n</svg>\n");
}

/* ---- the text ---- */

/* The path of node i; `;` is between the names. */
static void put_path(struct flame *v, uint32_t i)
{
	struct md_buf *out = &v->m->out;
	const struct node *k = &v->nodes[i];

	if (k->parent) {
		put_path(v, k->parent);
		md_buf_putc(out, ';');
	}
	for (size_t n = 0; n < k->name_len; n++) {
		char c = v->names.data[k->name + n];

		md_buf_putc(out, c == ';' ? ':' : (unsigned char)c < 0x20 ? ' ' : c);
	}
}

static void put_folded(struct flame *v, uint32_t i)
{
	for (uint32_t c = v->nodes[i].child; c != NONE && !v->m->err; c = v->nodes[c].next) {
		uint64_t self = self_of(v, &v->nodes[c]);

		if (self) {
			put_path(v, c);
			md_buf_printf(&v->m->out, " %" PRIu64 "\n", self);
			if (v->m->out.len >= PIECE)
				maker_write(v->m);
		}
		put_folded(v, c);
	}
}

static int compare_nodes(const void *a, const void *b, void *arg)
{
	const struct flame *v = arg;
	const struct node *x = &v->nodes[*(const uint32_t *)a];
	const struct node *y = &v->nodes[*(const uint32_t *)b];
	size_t n = x->name_len < y->name_len ? x->name_len : y->name_len;
	int order = memcmp(v->names.data + x->name, v->names.data + y->name, n);

	return order ? order : (x->name_len > y->name_len) - (x->name_len < y->name_len);
}

/* Frames beside each other are in the order of their names. */
static void sort_frames(struct flame *v)
{
	uint32_t *order = calloc(v->count, sizeof(*order));

	if (!order || v->names.failed) {
		v->m->err = -ENOMEM;
		free(order);
		return;
	}
	for (uint32_t i = 0; i < v->count; i++) {
		order[i] = i;
		v->nodes[i].child = NONE;
	}
	qsort_r(order + 1, v->count - 1, sizeof(*order), compare_nodes, v);
	/* The last name is put in front first. */
	for (uint32_t n = v->count; n-- > 1;) {
		struct node *k = &v->nodes[order[n]], *parent = &v->nodes[k->parent];

		k->next = parent->child;
		parent->child = order[n];
	}
	free(order);
}

static void make(struct maker *m, void (*put)(struct flame *v))
{
	static const struct track_form form = { .begin = add_begin, .end = add_end,
						.cut = add_unended, .leave = add_unended };
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
		v.dropped = tracks_run(m, &form, &v);
	if (!v.by_stack)
		v.nodes[0].inner = v.nodes[0].total;
	if (!m->err)
		sort_frames(&v);
	if (!m->err && !m->out.failed)
		put(&v);
out:
	free(v.nodes);
	free(v.table);
	md_buf_deinit(&v.names);
	md_buf_deinit(&v.name);
}

static void put_lines(struct flame *v)
{
	put_folded(v, 0);
}

void flame_make(struct maker *m)
{
	make(m, put_picture);
}

void folded_make(struct maker *m)
{
	make(m, put_lines);
}
