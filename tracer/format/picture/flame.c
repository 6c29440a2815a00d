/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flame graph (flame.h) as SVG, and as lines of text: flame.folded has the path of each frame and
 * its self time. flame.js is in the picture.
 */
#include "tracer/format/picture/flame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/hash.h"
#include "tracer/format/picture/flame_parts.h"

#define NONE FLAME_NONE
#define WIDTH 1200.0            /* of the picture, in units of the SVG */
#define ROW 18
#define TOP 62                  /* above the frames: the heading */
#define LETTER 7.3              /* the width of a letter */
#define NARROW 0.012            /* narrower frames are left out: a zoom shows the others */
#define PIECE (256u << 10)

__asm__(".section .rodata\n"
	"flame_script: .incbin \"tracer/format/picture/flame.js\"\n"
	"flame_script_end: .byte 0\n"
	".previous\n");

extern const char flame_script[] __attribute__((visibility("hidden")));
extern const char flame_script_end[] __attribute__((visibility("hidden")));

struct place {                  /* of a frame in the picture */
	uint64_t begin;         /* ns or events left of it */
	uint32_t depth, y;
};

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

/* The name and the amounts of a frame, with `between` before each amount. */
static void put_details(const struct flame *v, const struct flame_node *k, const char *between)
{
	const struct flame_node *parent = &v->nodes[k->parent];
	struct md_buf *out = &v->m->out;

	put_text(out, v->names.data + k->name, k->name_len, 1000);
	md_buf_printf(out, "%stotal ", between);
	put_amount(v, k->total);
	md_buf_printf(out, ", %.2f %%", 100 * (double)k->total / (double)v->nodes[0].total);
	if (k->parent && parent->total)
		md_buf_printf(out, ", %.2f %% of its parent",
			      100 * (double)k->total / (double)parent->total);
	md_buf_printf(out, "%sself ", between);
	put_amount(v, flame_self(v, k));
	if (k->count) {
		md_buf_printf(out, "%s%" PRIu64 " times, mean ", between, k->count);
		put_amount(v, k->total / k->count);
	}
}

/* The details are a title under the pointer; the script shows them at the top, too. */
static void put_frame(struct flame *v, const struct flame_node *k, const struct place *at)
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
	md_buf_puts(out, "<text id=\"head\" x=\"6\" y=\"26\">");
	md_buf_puts(out, v->by_stack ? "By callstack: " : "Time in slices, of all threads: ");
	put_amount(v, v->nodes[0].total);
	if (v->dropped.overwritten)
		md_buf_printf(out,
			      "; without %" PRIu64 " begins whose ends were overwritten",
			      v->dropped.overwritten);
	if (v->dropped.tracked)
		md_buf_printf(out,
			      "; without %" PRIu64 " begins that have no end because of tracking",
			      v->dropped.tracked);
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
	const struct flame_node *k = &v->nodes[i];

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
		uint64_t self = flame_self(v, &v->nodes[c]);

		if (self) {
			put_path(v, c);
			md_buf_printf(&v->m->out, " %" PRIu64 "\n", self);
			if (v->m->out.len >= PIECE)
				maker_write(v->m);
		}
		put_folded(v, c);
	}
}

static void put_lines(struct flame *v)
{
	put_folded(v, 0);
}

static void make(struct maker *m, void (*put)(struct flame *v))
{
	struct flame v;

	flame_collect(&v, m);
	if (!m->err && !m->out.failed)
		put(&v);
	flame_deinit(&v);
}

void flame_make(struct maker *m)
{
	make(m, put_picture);
}

void folded_make(struct maker *m)
{
	make(m, put_lines);
}
