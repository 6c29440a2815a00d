/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/base/base.h"

/*
 * A mismatch needs to extend only the match of the last star. The text between two stars was
 * matched at its first possible place; a later place would leave less of the name for the rest of
 * the pattern. Therefore no recursion is needed.
 */
bool glob_match(const char *pattern, const char *name)
{
	const char *after_star = NULL, *resume = NULL;

	while (*name) {
		if (*pattern == '*') {
			after_star = ++pattern;
			resume = name;
			continue;
		}
		if (*pattern) {
			const char *literal =
				pattern[0] == '\\' && pattern[1] ? pattern + 1 : pattern;

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
