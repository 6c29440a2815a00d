/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracer/base/: what every room above uses. It knows neither sessions nor applications, has no
 * state and no lock; every function may be called from any thread.
 *
 *   base.h      (this file) domains, names, log levels, units, patterns, suggestions
 *   err.h       struct tr_err: a user's mistake as a sentence, a line and a column
 *   setting.h   settings as data: show, parse, save, restore any of a table
 *   lexer.h     words of a line, with quotes and escapes; words.h: names and choices
 *   json_read.h a JSON text as a tree
 *   hash.h      the 64-bit hash of tables, digests and checksums
 *   timefmt.h   dates and times as text
 *   search.h    the search in sorted arrays
 *   array.h     arrays that grow; hash_table.h: finds their elements by a hash
 *   request.h   the numbers of the newest writes, for a daemon that gets them again
 *   pack.h      event classes as bytes, for event logs and for another process
 */
#ifndef TRACER_BASE_BASE_H
#define TRACER_BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tracer/base/err.h"

#define SWAP(a, b)                              \
	do {                                    \
		__typeof__(a) former_ = (a);    \
		(a) = (b);                      \
		(b) = former_;                  \
	} while (0)

static inline bool begins_with(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Where events come from. Each domain has its own channels, rules, contexts and filters. */
enum domain { DOMAIN_USER, DOMAIN_KERNEL, DOMAINS };

/* ---- names ---- */

/*
 * Checks the name of a session or a channel: [A-Za-z0-9_][A-Za-z0-9_.:@+-]*, at most `max` bytes.
 * 0, -EINVAL or -ENAMETOOLONG.
 */
int name_check(const char *name, size_t max, struct tr_err *err);

/* ---- log levels: LTTng's fifteen, 0 (emerg) … 14 (debug) ---- */

enum { LEVEL_COUNT = 15 };

/* The name of a level; NULL if there is no such level. */
const char *level_name(int level);
/* The level of a name in any case, also with TRACE_, or of a number; -1 if there is none. */
int level_parse(const char *name, size_t len);
/* For "did you mean": the level's name that is nearest to `name`, NULL if none is near. */
const char *level_nearest(const char *name, size_t len);

/* ---- units ---- */

/* "4M", "512k", "1G", "4096" → bytes. 0, or -EINVAL with a sentence. */
int units_size(const char *text, uint64_t *out, struct tr_err *err);
/* The same for a number that is not bytes, with a sentence that does not speak of bytes. */
int units_count(const char *text, uint64_t *out, struct tr_err *err);
/* "100ms", "2s", "0", "inf" → microseconds; UINT64_MAX is inf. 0, or -EINVAL with a sentence. */
int units_time(const char *text, uint64_t *out, struct tr_err *err);

/* ---- patterns ---- */

/*
 * Matches a whole name: `*` is any run of characters, a backslash makes the next character literal.
 * Takes at most strlen(pattern) * strlen(name) steps.
 */
bool glob_match(const char *pattern, const char *name);

/* ---- suggestions ---- */

/*
 * For "did you mean": the name that is nearest to a misspelled word. NULL if none is near: at most
 * a third of the letters differ (case does not count), or one is the beginning of the other.
 */
const char *nearest(const char *word, size_t len, const char *const *names, size_t count);
/* The same of names that follow each other in `size` bytes, each with its NUL. */
const char *nearest_in(const char *word, size_t len, const char *names, size_t size);
/* Writes "a, b, c", or "none", cut to the size, and returns it. */
const char *join_names(const char *const *names, size_t count, char *out, size_t size);

#endif
