/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Log levels as LTTng names and numbers them. */
#include <string.h>
#include <strings.h>

#include "tracer/base/base.h"

static const char *const names[LEVEL_COUNT] = {
	"emerg", "alert", "crit", "err", "warning", "notice", "info",
	"debug_system", "debug_program", "debug_process", "debug_module", "debug_unit",
	"debug_function", "debug_line", "debug",
};

const char *level_name(int level)
{
	return level >= 0 && level < LEVEL_COUNT ? names[level] : NULL;
}

static int parse_number(const char *s, size_t len)
{
	int n = 0;
	size_t i;

	if (!len || len > 2)
		return -1;
	for (i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9')
			return -1;
		n = n * 10 + (s[i] - '0');
	}
	return n < LEVEL_COUNT ? n : -1;
}

int level_parse(const char *name, size_t len)
{
	static const char prefix[] = "TRACE_";
	int i = parse_number(name, len);

	if (i >= 0)
		return i;
	if (len >= sizeof(prefix) && !strncasecmp(name, prefix, sizeof(prefix) - 1)) {
		name += sizeof(prefix) - 1;
		len -= sizeof(prefix) - 1;
	}
	for (i = 0; i < LEVEL_COUNT; i++)
		if (strlen(names[i]) == len && !strncasecmp(names[i], name, len))
			return i;
	return -1;
}

const char *level_nearest(const char *name, size_t len)
{
	return nearest(name, len, names, LEVEL_COUNT);
}
