/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A user's mistake: a function returns -errno and fills a tr_err with one sentence and, if the
 * mistake is in a text, with the line and the column. fs/ prints it into the `error` file:
 *
 *   events:1: no such level 'warnin'; did you mean 'warning'?
 *     my_app:* loglevel warnin
 *                       ^
 */
#ifndef TRACER_BASE_ERR_H
#define TRACER_BASE_ERR_H

struct tr_err {
	char sentence[256];     /* without newline; "" if there is none */
	char text[512];         /* the offending line (cut if longer), or "" */
	int column;             /* byte offset in text of the caret, -1: none */
	int line;               /* 1 …: line in the write, 0: not known */
};

#define TR_ERR_INIT { .column = -1 }

/* Fills err (may be NULL) and returns code, a negative errno. */
int tr_fail(struct tr_err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same with the line at `text` and the caret's column (-1: none). */
int tr_fail_at(struct tr_err *err, int code, const char *text, int column, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

#endif
