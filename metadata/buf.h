/* SPDX-License-Identifier: MIT */
/*
 * A growable byte buffer, for text and packets.
 *
 * If an allocation fails, the buffer sets `failed` and ignores every later call, so that a caller
 * tests once, at the end. Not thread safe: one owner at a time.
 */
#ifndef METADATA_BUF_H
#define METADATA_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct md_buf {
	char *data;     /* owned; not NUL terminated unless md_buf_str was called */
	size_t len;     /* bytes used */
	size_t size;    /* bytes allocated */
	bool failed;    /* memory ran out: contents are incomplete */
};

#define MD_BUF_INIT { 0 }

void md_buf_deinit(struct md_buf *b);
/* Forgets the contents, keeps the allocation. */
void md_buf_reset(struct md_buf *b);
/*
 * Makes room for n more bytes; returns their place, or NULL if memory is short. Does not change
 * len.
 */
static inline char *md_buf_room(struct md_buf *b, size_t n);
static inline void md_buf_put(struct md_buf *b, const void *data, size_t n);
static inline void md_buf_puts(struct md_buf *b, const char *s);
static inline void md_buf_putc(struct md_buf *b, char c);
void md_buf_printf(struct md_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * Appends untrusted bytes: printable ASCII and UTF-8 unchanged; control bytes, quotes and
 * backslashes as C escapes.
 */
void md_buf_escape(struct md_buf *b, const char *s, size_t n);
/*
 * The contents as a C string (adds a NUL that len does not count); "" if memory is short. Valid
 * until the next call.
 */
const char *md_buf_str(struct md_buf *b);

char *md_buf_grow(struct md_buf *b, size_t n);  /* md_buf_room, if there is no room yet */

static inline char *md_buf_room(struct md_buf *b, size_t n)
{
	if (__builtin_expect(b->data && !b->failed && n <= b->size - b->len, 1))
		return b->data + b->len;
	return md_buf_grow(b, n);
}

static inline void md_buf_put(struct md_buf *b, const void *data, size_t n)
{
	char *o = md_buf_room(b, n);

	if (!o || !n)
		return;
	memcpy(o, data, n);
	b->len += n;
}

static inline void md_buf_puts(struct md_buf *b, const char *s)
{
	md_buf_put(b, s, strlen(s));
}

static inline void md_buf_putc(struct md_buf *b, char c)
{
	char *o = md_buf_room(b, 1);

	if (!o)
		return;
	*o = c;
	b->len++;
}

#endif
