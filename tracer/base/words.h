/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of a language of one line: names and choices. */
#ifndef TRACER_BASE_WORDS_H
#define TRACER_BASE_WORDS_H

#include "tracer/base/lexer.h"

/* The next word; missing: what -EINVAL says if there is none. */
int next_word(struct scan *s, struct word *w, const char *missing);
/* The next word is a name of at most max bytes, copied to out. */
int next_name(struct scan *s, struct word *w, const char *what, size_t max, char *out);
/* The next word is one of n; *chosen is its index. what: the noun for "no such …". */
int next_choice(struct scan *s, struct word *w, const char *what, const char *const *words,
		size_t n, size_t *chosen);
/* -EINVAL if the line has one more word. */
int no_more_words(struct scan *s, struct word *w);
/*
 * Whether the text is a path to a value of an event: NAME, then .NAME or [NUMBER], MD_HOPS_MAX of
 * these in all. Reads the byte after it.
 */
bool is_field_path(const char *text, size_t len);

#endif
