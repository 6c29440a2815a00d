/* SPDX-License-Identifier: GPL-2.0-or-later */
/* String literals with stars: see filter/tree.h. */
#include <string.h>

#include "tracer/base/filter/tree.h"

bool filter_is_pattern(const struct filter_node *n)
{
	return n->kind == NODE_STRING && memchr(n->text, '\0', n->text_length);
}

/* Only the last star ever needs to backtrack: see glob_match. */
bool filter_match_literals(const struct filter_node *pattern, const struct filter_node *text)
{
	const char *p = pattern->text, *p_end = p + pattern->text_length, *s = text->text,
		   *s_end = s + text->text_length;
	const char *after_star = NULL, *resume = NULL;

	while (s < s_end) {
		if (p < p_end && !*p) {
			after_star = ++p;
			resume = s;
		} else if (p < p_end && *p == *s) {
			p++;
			s++;
		} else if (after_star) {
			p = after_star;
			s = ++resume;
		} else {
			return false;
		}
	}
	while (p < p_end && !*p)
		p++;
	return p == p_end;
}
