/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words of a line: separated by blanks, or in double quotes with C escapes. All languages of one
 * line (rules, filters, rules of maps, conditions, actions) read with a struct scan; so one can be
 * a part of another, and a mistake has its column in the whole line.
 */
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
	/*
	 * Words of the language that this one is a part of: where one of them could be the next
	 * word, the part has ended. NULL at the end of the list; NULL: the part is the whole line.
	 */
	const char *const *stops;
};

/*
 * Among the stops, by this address: any word that begins as a pattern of events does, but for the
 * words of clauses and of other languages' operators.
 */
extern const char scan_pattern[];

/* A struct scan * for the line from byte `at` on. */
#define SCAN(line, at, err) (&(struct scan){ (line), (at), (err), NULL })

struct word {
	struct md_buf text;     /* decoded; use word_text */
	size_t column;          /* where it begins in the line */
	bool quoted;
};

void scan_blanks(struct scan *s);
bool scan_at_end(const struct scan *s);         /* true at the line's end; skip blanks first */
/* The stop word that begins at s->at; NULL: none. */
const char *scan_stop(const struct scan *s);
bool scan_done(const struct scan *s);           /* at the line's end, or at a stop word */
/* The stop word that the `len` bytes of `word` may be meant for; NULL: none. */
const char *scan_near_stop(const struct scan *s, const char *word, size_t len);
/* Fails at the column. Returns -EINVAL. */
int scan_fail(const struct scan *s, size_t column, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
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

/* A word without quotes, or one of `,`, `(`, `)`, in the line. */
struct token {
	const char *text;
	size_t len;             /* 0: the line's end */
};

struct token scan_look(struct scan *s);         /* the next one; s->at is where it begins */
struct token scan_take(struct scan *s);
bool scan_take_if(struct scan *s, const char *word);
bool token_is(struct token t, const char *word);

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
