/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sizes and times as users write them. */
#include <errno.h>
#include <string.h>

#include "tracer/base/base.h"

struct unit {
	const char *suffix;
	uint64_t factor;
};

static const struct unit sizes[] = {
	{ "", 1 },         { "k", 1u << 10 }, { "K", 1u << 10 },
	{ "M", 1u << 20 }, { "G", 1u << 30 }, { "T", UINT64_C(1) << 40 },
};

static const struct unit times[] = {
	{ "", 1 },         { "us", 1 },       { "ms", 1000 },
	{ "s", 1000000 },  { "m", 60000000 }, { "h", UINT64_C(3600000000) },
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* Returns `text` without the white space around it, and its length. */
static const char *trim_blanks(const char *text, size_t *len)
{
	const char *end;

	while (is_blank(*text))
		text++;
	end = text + strlen(text);
	while (end > text && is_blank(end[-1]))
		end--;
	*len = (size_t)(end - text);
	return text;
}

static const struct unit *find_unit(const struct unit *units, size_t count, const char *suffix,
				    size_t len)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (strlen(units[i].suffix) == len && !memcmp(units[i].suffix, suffix, len))
			return &units[i];
	return NULL;
}

static int parse_number(const char *text, const struct unit *units, size_t count, const char *help,
			uint64_t *out, struct tr_err *err)
{
	uint64_t n = 0;
	const struct unit *unit;
	size_t len, i;
	const char *s = trim_blanks(text, &len);

	if (!len)
		return tr_fail(err, -EINVAL, "a value is missing: %s", help);
	for (i = 0; i < len && s[i] >= '0' && s[i] <= '9'; i++)
		if (__builtin_mul_overflow(n, 10u, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(s[i] - '0'), &n))
			return tr_fail_at(err, -EINVAL, s, 0, "the number is too large");
	if (!i)
		return tr_fail_at(err, -EINVAL, s, 0, "no number: %s", help);
	if (s[i] == '.')
		return tr_fail_at(err, -EINVAL, s, (int)i, "not a whole number: %s", help);
	unit = find_unit(units, count, s + i, len - i);
	if (!unit)
		return tr_fail_at(err, -EINVAL, s, (int)i, "no such unit: %s", help);
	/* UINT64_MAX means `inf`. */
	if (__builtin_mul_overflow(n, unit->factor, &n) || n == UINT64_MAX)
		return tr_fail_at(err, -EINVAL, s, 0, "the number is too large");
	*out = n;
	return 0;
}

int units_size(const char *text, uint64_t *out, struct tr_err *err)
{
	return parse_number(text, sizes, sizeof(sizes) / sizeof(sizes[0]),
			    "bytes, or with k, M, G or T, as in 512k", out, err);
}

int units_count(const char *text, uint64_t *out, struct tr_err *err)
{
	return parse_number(text, sizes, sizeof(sizes) / sizeof(sizes[0]),
			    "write a whole number, as in 8", out, err);
}

int units_time(const char *text, uint64_t *out, struct tr_err *err)
{
	size_t len;
	const char *s = trim_blanks(text, &len);

	if (len == 3 && !memcmp(s, "inf", 3)) {
		*out = UINT64_MAX;
		return 0;
	}
	return parse_number(text, times, sizeof(times) / sizeof(times[0]),
		     "microseconds, or with us, ms, s, m or h, as in 100ms, or inf", out, err);
}
