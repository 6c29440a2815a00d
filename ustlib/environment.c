// SPDX-License-Identifier: MIT
/* What the environment asks of the library, and what it prints for LTTNG_UST_DEBUG. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ustlib/lib.h"

#define FOREVER_MS 60000        /* for LTTng's -1: a wait is never longer than a minute */

static bool verbose;

static bool is_time(const char *s)
{
	return s && *s && strspn(s, "0123456789") == strlen(s) && strlen(s) <= 5;
}

void environment_read(void)
{
	const char *own = secure_getenv("TRAIL_ATTACH_TIMEOUT"),
		   *lttng = secure_getenv("LTTNG_UST_REGISTER_TIMEOUT");

	verbose = secure_getenv("LTTNG_UST_DEBUG") != NULL;
	if (is_time(own))
		attach_ms = atoi(own);
	else if (is_time(lttng))
		attach_ms = atoi(lttng);
	else if (lttng && !strcmp(lttng, "-1"))
		attach_ms = FOREVER_MS;
	debug_print("the directories are %s and %s; a silent daemon is waited for %d ms",
		    runtime_dir[TRAIL_LANE_ROOT], runtime_dir[TRAIL_LANE_USER], attach_ms);
}

void debug_print(const char *format, ...)
{
	char line[512];
	int saved = errno, n, m;
	va_list args;

	if (!verbose)
		return;
	n = snprintf(line, sizeof(line), "libtrail[%d]: ", (int)getpid());
	va_start(args, format);
	m = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, args);
	va_end(args);
	n += m < 0 ? 0 : m < (int)sizeof(line) - n - 1 ? m : (int)sizeof(line) - n - 2;
	line[n] = '\n';
	/* One write: lines of several processes do not mix. If it fails, nothing can be done. */
	n = (int)write(STDERR_FILENO, line, (size_t)n + 1);
	errno = saved;
}
