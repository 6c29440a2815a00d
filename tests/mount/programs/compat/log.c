/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tracef() and tracelog() */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <lttng/tracef.h>
#include <lttng/tracelog.h>

static void __attribute__((format(printf, 1, 2))) list(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	lttng_ust_vtracef(format, args);
	va_end(args);
	va_start(args, format);
	lttng_ust_vtracelog(LTTNG_UST_TRACEPOINT_LOGLEVEL_NOTICE, format, args);
	va_end(args);
}

int main(void)
{
	char text[2001];

	memset(text, 'y', 2000);
	text[2000] = 0;
	tracef("plain");
	tracef("%d %s", 42, "words");
	tracef("%s", "");
	tracef("%s|%d", text, 7);
	list("a list: %s %ld", "x", -1l);
	tracelog(TRACE_EMERG, "number %d", 0);
	tracelog(TRACE_WARNING, "long %s", text);
	tracelog(TRACE_DEBUG, "last");
	if (1)
		tracelog(TRACE_DEBUG_LINE, "in a branch");
	else
		tracef("not here");
	errno = ENOENT;
	tracef("%m");
	return errno != ENOENT;
}
