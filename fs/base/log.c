/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <syslog.h>

#include "fs/base/base.h"

static enum say_level most = SAY_INFO;  /* set before there are threads */
static bool to_syslog;                  /* atomic: it is set while other threads may log */

void say(enum say_level level, const char *fmt, ...)
{
	static const int priorities[] = { LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG };
	char line[1024];
	va_list ap;

	if (level > most)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	/* Pairs with the release in say_to_syslog: the log is open. */
	if (__atomic_load_n(&to_syslog, __ATOMIC_ACQUIRE))
		syslog(priorities[level], "%s", line);
	else
		fprintf(stderr, "trailfs: %s\n", line);
}

void say_level(enum say_level level)
{
	most = level;
}

void say_to_syslog(void)
{
	openlog("trailfs", LOG_PID, LOG_DAEMON);
	__atomic_store_n(&to_syslog, true, __ATOMIC_RELEASE);
}
