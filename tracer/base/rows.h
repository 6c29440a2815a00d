/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables that are shown in two forms: lines of columns for people (`counts`), and JSON for programs
 * (`counts.json`): one object whose members are arrays of rows, each an object. A function walks
 * what it shows once, and calls the functions below; they know the form.
 *
 * In lines, columns have blanks between them. A number that is not known is `-` there, and null in
 * JSON. No lock: rows belong to their caller.
 */
#ifndef TRACER_BASE_ROWS_H
#define TRACER_BASE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "metadata/buf.h"

struct rows {
	struct md_buf *out;
	bool json;
	bool members, cells;            /* JSON: the object, the row has something; else a comma */
};

/* A table of names, or of other rows with one word. */
void row_word(struct rows *r, const char *name, const char *text);

/* The object, and the line after it; nothing in lines. */
void rows_begin(struct rows *r);
void rows_end(struct rows *r);

/* A table. heading: the line before it, without `# `; NULL: none. */
void table_begin(struct rows *r, const char *name, const char *heading);
void table_end(struct rows *r);
/* A number about the tables as a whole, of a member of the object. Not in lines. */
void rows_number(struct rows *r, const char *name, uint64_t n);

/* A row. word: the first column of the line; NULL: none. */
void row_begin(struct rows *r, const char *word);
void row_end(struct rows *r);

/* JSON: a row that is made already, an object. */
void row_json(struct rows *r, const char *object);

/* Cells. width: the least of the column; negative: aligned to the left. */
void cell_word(struct rows *r, const char *name, int width, const char *text);
/* The same, but null in JSON if it is not known; then the line has `-`. */
void cell_known_word(struct rows *r, const char *name, int width, bool known, const char *text);
/* Text of an application: any bytes. Quoted in lines if it has blanks; NULL: not known. */
void cell_name(struct rows *r, const char *name, const char *text);
void cell_number(struct rows *r, const char *name, int width, bool known, uint64_t n);
/* A time in ns: microseconds with three decimals in lines, whole ns in JSON. */
void cell_time(struct rows *r, const char *name, bool known, uint64_t ns);
/* The same: seconds with nine decimals in lines. */
void cell_seconds(struct rows *r, const char *name, bool known, uint64_t ns);
/* JSON: a value that is made already. Nothing in lines. */
void cell_json(struct rows *r, const char *name, const char *value);
void cell_rate(struct rows *r, const char *name, bool known, double n);

/*
 * A bar of BAR_COLUMNS columns, by eighths of a column; what it leaves free is dots, so that it is
 * one word. Of nothing in JSON.
 */
#define BAR_COLUMNS 12u
void cell_bar(struct rows *r, uint64_t n, uint64_t most);
/* Appends the bar that `n` has of `columns` columns for `most`, and `free` for what it leaves. */
void bar_put(struct md_buf *out, uint64_t n, uint64_t most, unsigned int columns,
	     const char *free);

#endif
