// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/base/rows.h"

#include <inttypes.h>
#include <string.h>

#include "metadata/json.h"
#include "metadata/name.h"
#include "tracer/base/lexer.h"

static void put_quoted(const char *text, struct md_buf *out)
{
	md_buf_putc(out, '"');
	md_json_escape_put(text, strlen(text), out);
	md_buf_putc(out, '"');
}

static void begin_member(struct rows *r, const char *name)
{
	if (r->members)
		md_buf_puts(r->out, ",\n");
	r->members = true;
	put_quoted(name, r->out);
	md_buf_putc(r->out, ':');
}

void rows_begin(struct rows *r)
{
	if (r->json)
		md_buf_putc(r->out, '{');
}

void rows_end(struct rows *r)
{
	if (r->json)
		md_buf_puts(r->out, "}\n");
}

void table_begin(struct rows *r, const char *name, const char *heading)
{
	if (r->json) {
		begin_member(r, name);
		md_buf_putc(r->out, '[');
		r->members = false;
	} else if (heading) {
		md_buf_printf(r->out, "# %s\n", heading);
	}
}

void table_end(struct rows *r)
{
	if (r->json)
		md_buf_putc(r->out, ']');
	r->members = true;
}

void rows_number(struct rows *r, const char *name, uint64_t n)
{
	if (!r->json)
		return;
	begin_member(r, name);
	md_buf_printf(r->out, "%" PRIu64, n);
}

void row_begin(struct rows *r, const char *word)
{
	if (r->json)
		md_buf_puts(r->out, r->members ? ",\n{" : "\n{");
	else if (word)
		md_buf_puts(r->out, word);
	r->members = true;
	r->cells = !r->json && word;
}

void row_end(struct rows *r)
{
	md_buf_putc(r->out, r->json ? '}' : '\n');
}

void row_json(struct rows *r, const char *object)
{
	md_buf_puts(r->out, r->members ? ",\n" : "\n");
	md_buf_puts(r->out, object);
	r->members = true;
}

void row_word(struct rows *r, const char *name, const char *text)
{
	row_begin(r, NULL);
	cell_word(r, name, 0, text);
	row_end(r);
}

/* The blank, or the comma and the name, before a cell. */
static void begin_cell(struct rows *r, const char *name)
{
	if (r->cells)
		md_buf_putc(r->out, r->json ? ',' : ' ');
	r->cells = true;
	if (!r->json)
		return;
	put_quoted(name, r->out);
	md_buf_putc(r->out, ':');
}

static void put_unknown(struct rows *r, int width)
{
	if (r->json)
		md_buf_puts(r->out, "null");
	else
		md_buf_printf(r->out, "%*s", width, "-");
}

void cell_known_word(struct rows *r, const char *name, int width, bool known, const char *text)
{
	begin_cell(r, name);
	if (!known)
		put_unknown(r, width);
	else if (r->json)
		put_quoted(text, r->out);
	else
		md_buf_printf(r->out, "%*s", width, text);
}

void cell_word(struct rows *r, const char *name, int width, const char *text)
{
	cell_known_word(r, name, width, true, text);
}

void cell_name(struct rows *r, const char *name, const char *text)
{
	struct md_buf clean = MD_BUF_INIT;

	begin_cell(r, name);
	if (!text) {
		put_unknown(r, 0);
	} else if (r->json) {
		put_quoted(text, r->out);
	} else {
		md_name_shown(text, &clean);
		word_print(md_buf_str(&clean), r->out);
		r->out->failed |= clean.failed;
	}
	md_buf_deinit(&clean);
}

void cell_number(struct rows *r, const char *name, int width, bool known, uint64_t n)
{
	begin_cell(r, name);
	if (!known)
		put_unknown(r, width);
	else
		md_buf_printf(r->out, "%*" PRIu64, r->json ? 0 : width, n);
}

void cell_time(struct rows *r, const char *name, bool known, uint64_t ns)
{
	if (r->json || !known)
		cell_number(r, name, 13, known, ns);
	else {
		begin_cell(r, name);
		md_buf_printf(r->out, "%9" PRIu64 ".%03u", ns / 1000, (unsigned int)(ns % 1000));
	}
}

void cell_seconds(struct rows *r, const char *name, bool known, uint64_t ns)
{
	if (r->json || !known)
		cell_number(r, name, 0, known, ns);
	else {
		begin_cell(r, name);
		md_buf_printf(r->out, "%" PRIu64 ".%09u", ns / 1000000000,
			      (unsigned int)(ns % 1000000000));
	}
}

void cell_json(struct rows *r, const char *name, const char *value)
{
	if (!r->json)
		return;
	begin_cell(r, name);
	md_buf_puts(r->out, value);
}

void cell_rate(struct rows *r, const char *name, bool known, double n)
{
	begin_cell(r, name);
	if (!known)
		put_unknown(r, 13);
	else
		md_buf_printf(r->out, "%*.1f", r->json ? 0 : 13, n);
}

void bar_put(struct md_buf *out, uint64_t n, uint64_t most, unsigned int columns,
	     const char *free)
{
	static const char *const eighths[] = { "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	/* In eighths of a column. A number above 0 has at least one. */
	unsigned int size = most ? (unsigned int)((long double)n * (8 * columns) /
						  (long double)most)
				 : 0, i;

	size = size > 8 * columns ? 8 * columns : size;
	size = n && !size ? 1 : size;
	for (i = 0; i < size / 8; i++)
		md_buf_puts(out, "█");
	if (size % 8)
		md_buf_puts(out, eighths[size % 8 - 1]);
	for (i += size % 8 != 0; i < columns; i++)
		md_buf_puts(out, free);
}

void cell_bar(struct rows *r, uint64_t n, uint64_t most)
{
	if (r->json)
		return;
	begin_cell(r, "");
	bar_put(r->out, n, most, BAR_COLUMNS, "·");
}
