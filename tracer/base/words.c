// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/access.h"
#include "tracer/base/base.h"
#include "tracer/base/words.h"

int next_word(struct scan *s, struct word *w, const char *missing)
{
	scan_blanks(s);
	if (scan_at_end(s))
		return scan_fail(s, s->at, "%s", missing);
	return scan_word(s, false, w);
}

int next_name(struct scan *s, struct word *w, const char *what, size_t max, char *out)
{
	struct tr_err err = TR_ERR_INIT;
	char missing[80];
	int ret;

	snprintf(missing, sizeof(missing), "the name of a %s is missing here", what);
	ret = next_word(s, w, missing);
	if (ret)
		return ret;
	ret = name_check(word_text(w), max, &err);
	if (ret)
		return tr_fail_at(s->err, ret, s->line, word_column(w, 0), "%s", err.sentence);
	memcpy(out, word_text(w), strlen(word_text(w)) + 1);
	return 0;
}

int next_choice(struct scan *s, struct word *w, const char *what, const char *const *words,
		size_t n, size_t *chosen)
{
	char all[160] = "", missing[240];
	const char *near;
	int ret;

	for (size_t i = 0; i < n; i++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s",
			 !i ? "" : i + 1 < n ? ", " : " or ", words[i]);
	snprintf(missing, sizeof(missing), "%s %s is missing here: %s",
		 *what == 'a' ? "an" : "a", what, all);
	ret = next_word(s, w, missing);
	if (ret)
		return ret;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(word_text(w), words[i]) != 0)
			continue;
		*chosen = i;
		return 0;
	}
	near = nearest(word_text(w), strlen(word_text(w)), words, n);
	if (near)
		return scan_fail(s, word_column(w, 0), "no such %s '%.40s'; did you mean '%s'?",
				 what, word_text(w), near);
	return scan_fail(s, word_column(w, 0),
			 n > 1 ? "no such %s '%.40s': %s" : "no such %s '%.40s' here: only %s",
			 what, word_text(w), all);
}

int no_more_words(struct scan *s, struct word *w)
{
	int ret;

	scan_blanks(s);
	if (scan_at_end(s))
		return 0;
	ret = scan_word(s, false, w);
	return ret ? ret : scan_fail(s, word_column(w, 0), "'%.60s' is not expected here",
				     word_text(w));
}

bool is_field_path(const char *text, size_t len)
{
	const char *s = text, *end = text + len;
	unsigned int steps = 0;
	char *after;
	size_t n;

	if (!len || !(isalpha((unsigned char)*s) || *s == '_'))
		return false;
	do {
		if (*s == '[') {
			if (!isdigit((unsigned char)s[1]) ||
			    strtoul(s + 1, &after, 10) > UINT32_MAX || *after != ']')
				return false;
			s = after + 1;
			continue;
		}
		s += steps && *s == '.';
		n = strcspn(s, ".[ \t,()=");
		if (!n)
			return false;
		s += n;
	} while (++steps < MD_HOPS_MAX && s < end && (*s == '.' || *s == '['));
	return s == end;
}
