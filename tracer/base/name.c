/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of sessions and channels. They become names of files and in CTF, so few characters are
 * valid.
 */
#include <errno.h>
#include <string.h>

#include "tracer/base/base.h"

static bool is_first_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static bool is_next_char(char c)
{
	return is_first_char(c) || (c && strchr(".:@+-", c));
}

int name_check(const char *name, size_t max, struct tr_err *err)
{
	size_t len = strlen(name), i;

	if (!len)
		return tr_fail(err, -EINVAL, "the name is empty");
	if (len > max)
		return tr_fail_at(err, -ENAMETOOLONG, name, (int)max,
				  "the name has %zu bytes, at most %zu are possible", len, max);
	if (!is_first_char(name[0]))
		return tr_fail_at(err, -EINVAL, name, 0,
				  "a name begins with a letter, a digit or '_'");
	for (i = 1; i < len; i++)
		if (!is_next_char(name[i]))
			return tr_fail_at(err, -EINVAL, name, (int)i,
					  "a name has letters, digits and any of _.:@+- only");
	return 0;
}
