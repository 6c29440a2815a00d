/* SPDX-License-Identifier: GPL-2.0-or-later */
/* "Did you mean …?": the word of a list that a misspelled one is nearest to. */
#ifndef TRACER_BASE_SUGGEST_H
#define TRACER_BASE_SUGGEST_H

#include <stddef.h>

/* NULL if none is near: at most a third of the letters changed (case does not count), or one begins the other. */
const char *nearest(const char *word, size_t len, const char *const *names, size_t count);

#endif
