/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a mistake is explained: a function returns -errno and fills a tr_err with one sentence and, where there is one, the
 * text it is about and the column of the trouble. fs/ prints it into the `error` file:
 *
 *   events:1: no such level 'warnin'; did you mean 'warning'?
 *     my_app:* loglevel warnin
 *                       ^
 */
#ifndef TRACER_BASE_ERR_H
#define TRACER_BASE_ERR_H

struct tr_err {
	char sentence[256];     /* no newline, no final period needed; "" if nothing was said */
	char text[512];         /* the offending line (cut if longer), or "" */
	int column;             /* byte offset in text of the caret, -1: none */
	int line;               /* 1 …: line in the write, 0: not known */
};

#define TR_ERR_INIT { .column = -1 }

/* Fills err (NULL is allowed) and returns code, a negative errno. */
int tr_fail(struct tr_err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The same with the text and the caret's column. */
int tr_fail_at(struct tr_err *err, int code, const char *text, int column, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

#endif
