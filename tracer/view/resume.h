/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text that a reader continues who began with a daemon that was killed. What identifies the place
 * is the text itself: lines begin with the time in ns, so a few lines are nowhere a second time.
 * The merge of all streams is in the same order again, because it depends on the events alone.
 */
#ifndef TRACER_VIEW_RESUME_H
#define TRACER_VIEW_RESUME_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define RESUME_PIECE (256u << 10)       /* bytes that are looked at together */

#define RESUME_LEAST 32         /* bytes: with fewer, there may be no time among them */

/*
 * How many of the bytes that a reader got last are not to be looked for, so that the others begin
 * with a line: the ends of two lines may be the same. all: the reader got no others.
 */
static inline size_t resume_skipped(const char *text, size_t len, bool all)
{
	const char *end = memchr(text, '\n', len);

	return all ? 0 : end ? (size_t)(end + 1 - text) : len;
}

/* Where the last whole line of the text begins, with the newline before it; 0: there is none. */
static inline size_t resume_last_line(const char *text, size_t len)
{
	const char *end = memrchr(text, '\n', len), *begin;

	begin = end && end > text ? memrchr(text, '\n', (size_t)(end - text)) : NULL;
	return begin ? (size_t)(begin - text) : 0;
}

/*
 * The end of the first occurrence of a text; if there is none, of its last whole line and what
 * follows that. NULL: neither is there.
 */
static inline const char *resume_find(const char *all, size_t all_len, const char *text, size_t len)
{
	const char *p = memmem(all, all_len, text, len);
	size_t skip = p ? 0 : resume_last_line(text, len);

	/* A line about losses may be another one now. */
	if (!p && skip)
		p = memmem(all, all_len, text + skip, len - skip);
	return p ? p + len - skip : NULL;
}

#endif
