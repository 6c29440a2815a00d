// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is said of tracepoints that are left out, because the registration file is wrong about them,
 * and of files that are no registrations at all.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "tracer/app/app.h"
#include "tracer/app/layout.h"
#include "tracer/session/session.h"

#define REPORTED_MOST 3u        /* sentences in `error` for a program */

static void put_refused(const struct registration_event *e, struct md_buf *out)
{
	md_buf_puts(out, "the tracepoint ");
	md_buf_escape(out, e->name, strlen(e->name));
	md_buf_printf(out, " is left out: %s", e->refused);
}

void app_problems(const struct app *a, unsigned int *most, struct facts *out)
{
	const struct registration *f = a->file;

	for (uint32_t e = 0; f->refused_count && *most && e < f->event_count; e++) {
		struct md_buf text = MD_BUF_INIT;

		if (!f->events[e].refused)
			continue;
		--*most;
		md_buf_escape(&text, f->object, strlen(f->object));
		md_buf_printf(&text, ", process %u: ", a->pid ? a->pid : f->pid);
		put_refused(&f->events[e], &text);
		fact_item(out, "problem", "%s", md_buf_str(&text));
		out->out->failed |= text.failed;
		md_buf_deinit(&text);
	}
}

void app_report_refused(struct tracer *t, struct app *a)
{
	const struct registration *f = a->file;
	unsigned int most = REPORTED_MOST;

	if (!f->refused_count)
		return;
	__atomic_fetch_add(&apps_of(t)->tracepoints_rejected, f->refused_count, __ATOMIC_RELAXED);
	if (f->layout->reported)
		return;
	f->layout->reported = true;
	app_identify(t, a);
	for (uint32_t e = 0; most && e < f->event_count; e++) {
		struct md_buf why = MD_BUF_INIT;

		if (!f->events[e].refused)
			continue;
		most--;
		put_refused(&f->events[e], &why);
		tracer_failed(t, f->uid, "%.200s, process %u: %s", f->object,
			      a->pid ? a->pid : f->pid, md_buf_str(&why));
		md_buf_deinit(&why);
	}
}

void app_report_rejected(struct tracer *t, int dir, const char *name, const char *reason)
{
	struct stat st;

	if (!fstatat(apps_of(t)->fds[dir], name, &st, AT_SYMLINK_NOFOLLOW))
		tracer_failed(t, st.st_uid,
			      "no tracepoint of the program that made the registration %s is "
			      "recorded: %s", name, reason);
	else
		tracer_report(t, "registration %s: %s", name, reason);
}
