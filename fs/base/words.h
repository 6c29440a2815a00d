/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small pieces of text: names, single values, and bytes from strangers on their way to a terminal.
 */
#ifndef FS_BASE_WORDS_H
#define FS_BASE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "metadata/buf.h"
#include "tracer/base/err.h"

/*
 * Is it UTF-8 (no surrogates, shortest forms) without NUL? If not, *bad is where it stops being so.
 */
bool words_utf8(const char *s, size_t n, size_t *bad);
/* Appends s in one line: control bytes and what is not UTF-8 as \ooo, everything else as it is. */
void words_clean(struct md_buf *out, const char *s, size_t n);
/* How many columns words_clean's text for the first n bytes takes (a character counts as one). */
size_t words_width(const char *s, size_t n);
/*
 * Reads the one word of text in place: blanks and empty lines around it do not count, it may stand
 * in double quotes with C escapes. -EINVAL if there is none, or more. *line: where it stands, 1 ….
 */
int words_value(char *text, char **word, int *line, struct tr_err *err);
/* Checks the name of something to be made. -EINVAL, or -ENAMETOOLONG beyond max bytes. */
int words_name(const char *name, size_t max, struct tr_err *err);

/*
 * The entry of the directory `prefix` that leads to `path`: copies its name to `name`. NULL: path
 * is not below the directory.
 */
const char *words_step(const char *path, const char *prefix, struct md_buf *name);

#endif
