// SPDX-License-Identifier: MIT
/* What the environment asks of the library, and what it prints for LTTNG_UST_DEBUG. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ustlib/base/base.h"

#define FOREVER_MS 60000        /* for LTTng's -1: a wait is never longer than a minute */
#define TOTAL 25ll /* times attach_ms: a wait in all, while the daemon shows that it lives */
#define TOTAL_MS_MAX 60000

int attach_ms = 10;
char runtime_dir[LANES][92];
static bool verbose;

/* The directory that the environment names; 0 bytes: none. LTTng's may name several: the first. */
static size_t named_dir(const char **dir)
{
	size_t len;

	*dir = secure_getenv("TRAIL_RUNTIME_DIR");
	len = *dir ? strlen(*dir) : 0;
	if (!*dir && (*dir = secure_getenv("LTTNG_UST_APP_PATH")))
		len = strcspn(*dir, ":");
	return len && **dir == '/' && len < sizeof(runtime_dir[0]) ? len : 0;
}

void environment_set_dirs(void)
{
	const char *dir, *xdg = secure_getenv("XDG_RUNTIME_DIR");
	char *root = runtime_dir[TRAIL_LANE_ROOT], *user = runtime_dir[TRAIL_LANE_USER];
	size_t len = named_dir(&dir), size = sizeof(runtime_dir[0]);

	if (len) {
		snprintf(root, size, "%.*s", (int)len, dir);
		snprintf(user, size, "%.*s", (int)len, dir);
		return;
	}
	strcpy(root, "/run/trailfs");
	if (xdg && *xdg == '/' && strlen(xdg) < size - 10)
		snprintf(user, size, "%s/trailfs", xdg);
	else
		snprintf(user, size, "/run/user/%u/trailfs", geteuid());
}

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

int64_t attach_total_us(void)
{
	int64_t ms = attach_ms * TOTAL, most = attach_ms > TOTAL_MS_MAX ? attach_ms : TOTAL_MS_MAX;

	return (ms < most ? ms : most) * 1000;
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
