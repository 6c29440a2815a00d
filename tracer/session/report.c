// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the tracer reports to the program that opened it, through the functions of struct
 * tracer_config.
 */
#include <stdarg.h>
#include <stdio.h>

#include "tracer/session/session.h"

/* session: NULL, or its name. */
static void report(struct tracer *t, const char *session, const char *fmt, va_list ap)
{
	char line[512];
	int n = session ? snprintf(line, sizeof(line), "session %s: ", session) : 0;

	if (!t->config.report)
		return;
	vsnprintf(line + n, sizeof(line) - (size_t)n, fmt, ap);
	t->config.report(t->config.report_arg, session, line);
}

void tracer_report(struct tracer *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report(t, NULL, fmt, ap);
	va_end(ap);
}

void session_report(const struct session *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report(s->tracer, s->name, fmt, ap);
	va_end(ap);
}

void session_failed(struct session *s, const char *fmt, ...)
{
	const struct tracer_config *config = &s->tracer->config;
	char line[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	session_report(s, "%s", line);
	if (config->failed)
		config->failed(config->failed_arg, s->name, s->created, s->uid, line);
}

void tracer_failed(struct tracer *t, uid_t user, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	tracer_report(t, "%s", line);
	if (t->config.failed)
		t->config.failed(t->config.failed_arg, "", 0, user, line);
}

void tracer_counted(struct tracer *t)
{
	if (t->config.counted)
		t->config.counted();
}

void tracer_changed(struct tracer *t, const char *session)
{
	if (t->config.changed)
		t->config.changed(t->config.changed_arg, session);
}
