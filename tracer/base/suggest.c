/* SPDX-License-Identifier: GPL-2.0-or-later */
/* "Did you mean …?" */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "tracer/base/base.h"

enum { LONGEST = 40 };          /* bytes; no keyword is longer */

static unsigned char lower(char c)
{
	return (unsigned char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

static unsigned int min_uint(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* Damerau-Levenshtein distance: the number of letters to insert, remove, replace or swap. */
static unsigned int edit_distance(const char *a, size_t n, const char *b, size_t m)
{
	unsigned int rows[3][LONGEST + 1], *two = rows[0], *one = rows[1], *now = rows[2], *swap;
	size_t i, j;

	for (j = 0; j <= m; j++)
		one[j] = two[j] = (unsigned int)j;
	for (i = 1; i <= n; i++) {
		now[0] = (unsigned int)i;
		for (j = 1; j <= m; j++) {
			unsigned int same = lower(a[i - 1]) == lower(b[j - 1]);

			now[j] = min_uint(min_uint(one[j], now[j - 1]) + 1, one[j - 1] + !same);
			if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
			    lower(a[i - 2]) == lower(b[j - 1]))
				now[j] = min_uint(now[j], two[j - 2] + 1);
		}
		swap = two;
		two = one;
		one = now;
		now = swap;
	}
	return one[m];
}

struct nearest_name {
	const char *name;               /* NULL: none is near */
	unsigned int distance;
};

static void compare_name(const char *word, size_t len, const char *name, struct nearest_name *best)
{
	size_t n = strlen(name), shorter = n < len ? n : len;
	unsigned int d;

	if (!len || len > LONGEST || n > LONGEST)
		return;
	d = edit_distance(word, len, name, n);
	/* A name's beginning (`warn`), or a name with more (`critical`), counts as one letter. */
	if (shorter >= 3 && !strncasecmp(word, name, shorter))
		d = min_uint(d, 1);
	if (d < best->distance && d <= (n < 6 ? 2 : n / 3) && d < len)
		*best = (struct nearest_name){ name, d };
}

const char *nearest(const char *word, size_t len, const char *const *names, size_t count)
{
	struct nearest_name best = { NULL, LONGEST };

	for (size_t i = 0; i < count; i++)
		compare_name(word, len, names[i], &best);
	return best.name;
}

const char *nearest_in(const char *word, size_t len, const char *names, size_t size)
{
	struct nearest_name best = { NULL, LONGEST };

	for (size_t at = 0; at < size; at += strlen(names + at) + 1)
		compare_name(word, len, names + at, &best);
	return best.name;
}

const char *join_names(const char *const *names, size_t count, char *out, size_t size)
{
	size_t len = 0;

	snprintf(out, size, "%s", count ? "" : "none");
	for (size_t i = 0; i < count && len < size; i++)
		len += (size_t)snprintf(out + len, size - len, "%s%s", i ? ", " : "", names[i]);
	return out;
}
