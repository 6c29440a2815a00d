/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of a line: separated by blanks, or in double quotes with C escapes. */
#ifndef TRACER_BASE_LEXER_H
#define TRACER_BASE_LEXER_H

#include <stdbool.h>
#include <stddef.h>

#include "metadata/buf.h"
#include "tracer/base/err.h"

struct scan {
	const char *line;       /* ends with a newline or NUL */
	size_t at;
	struct tr_err *err;
};

struct word {
	struct md_buf text;     /* decoded; use word_text */
	size_t column;          /* where it begins in the line */
	bool quoted;
};

void scan_blanks(struct scan *s);
bool scan_at_end(const struct scan *s);         /* true at the line's end; skip blanks first */
/*
 * Reads the next word; -EINVAL if there is none. `comma`: a comma outside quotes ends the word. w
 * must be initialized ({ 0 }) and may be used again; the caller calls word_deinit, also after an
 * error. 0, -EINVAL or -ENOMEM.
 */
int scan_word(struct scan *s, bool comma, struct word *w);
/*
 * Reads a C escape from s->at, which is after the backslash; appends the byte, never NUL. 0 or
 * -EINVAL.
 */
int scan_escape(struct scan *s, struct md_buf *out);
/*
 * Calls fn for each word of each line that is no comment, until fn returns an error. A comma may
 * follow a word. err->line is then that line, else the last one. Returns what fn returned, or
 * -EINVAL, -ENOMEM.
 */
int words_each(const char *text, int (*fn)(void *arg, struct scan *s, struct word *w), void *arg,
	       struct tr_err *err);
const char *word_text(struct word *w);
bool word_is(struct word *w, const char *keyword);      /* false if it was in quotes */
/* Column of byte i of the decoded word; of a quoted word the column of its quote. */
int word_column(const struct word *w, size_t i);
void word_deinit(struct word *w);
/* Appends a word so that scan_word reads it back. */
void word_print(const char *text, struct md_buf *out);
/* Appends a path, in quotes if it needs them, and a newline: a setting that can be written. */
void lexer_quote_path(const char *path, struct md_buf *out);

#endif
