/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patterns: `*` is any run of characters, a backslash takes the next one literally. See base/glob.h. */
#include "tracer/base/glob.h"

#include <stddef.h>

/*
 * Only the last star ever needs to give way: what an earlier one matched was the first place that fits, and any later
 * place leaves less for the rest. So no recursion, and at most strlen(pattern) * strlen(name) steps.
 */
bool rule_glob(const char *pattern, const char *name)
{
	const char *after_star = NULL, *resume = NULL;

	while (*name) {
		if (*pattern == '*') {
			after_star = ++pattern;
			resume = name;
			continue;
		}
		if (*pattern) {
			const char *literal = pattern[0] == '\\' && pattern[1] ? pattern + 1 : pattern;

			if (*literal == *name) {
				pattern = literal + 1;
				name++;
				continue;
			}
		}
		if (!after_star)
			return false;
		pattern = after_star;
		name = ++resume;
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}
