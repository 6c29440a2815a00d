/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events as lket-b2a prints them, one per line:
 *
 *   SEC.USEC CPU:n TID:n, PID:n, PPID:n, APPNAME:x EVT_NAME:iosyscall.read.entry name:value,…,
 *
 * The name is that of the hook (rule/hook.h) that stands for the event, or the event's own. Threads
 * and processes are those of the contexts; `-` where a channel does not have the context. Strings
 * have the escapes of JSON.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/json.h"
#include "tracer/base/base.h"
#include "tracer/format/export/lket.h"
#include "tracer/kernel/kevent/kevent.h"

struct lket {
	struct maker *m;
	struct md_buf text;     /* scratch */
};

/* Whether events that the pattern (rule/kernel_pattern.h) records have this name. */
static bool is_name_of(const char *pattern, const char *event)
{
	const char *colon = strchr(pattern, ':');
	bool probe = !strncmp(pattern, "kprobe:", 7) || !strncmp(pattern, "kretprobe:", 10);
	char system[64], name[KFORMAT_NAME_MAX + 1];

	if (!strncmp(pattern, "syscall:entry:", 14))
		return !strncmp(event, "syscall_entry_", 14) &&
		       glob_match(pattern + 14, event + 14);
	if (!strncmp(pattern, "syscall:exit:", 13))
		return !strncmp(event, "syscall_exit_", 13) && glob_match(pattern + 13, event + 13);
	if (!colon || probe || !strcmp(pattern, event) ||
	    (size_t)(colon - pattern) >= sizeof(system))
		return !strcmp(pattern, event);
	memcpy(system, pattern, (size_t)(colon - pattern));
	system[colon - pattern] = '\0';
	/* Prefixed, if another event of the kernel has the name. */
	for (int prefixed = 0; prefixed < 2; prefixed++)
		if (!kformat_event_name(system, colon + 1, prefixed, name) && !strcmp(name, event))
			return true;
	return false;
}

const struct hook *lket_find_hook(const struct md_event *class)
{
	const char *event = class->name;

	if (class->loglevel != MD_LOGLEVEL_NONE)        /* an event of an application */
		return NULL;

	/* First without stars: @iosyscall.read is nearer than @syscall. */
	for (int star = 0; star < 2; star++)
		for (size_t i = 0; i < hooks_count(); i++)
			for (size_t n = 0; n < hook_at(i)->count; n++) {
				const char *text = hook_at(i)->patterns[n].text;

				if (!strchr(text, '*') == !star && is_name_of(text, event))
					return hook_at(i);
			}
	return NULL;
}

/* What the row's event class is called: the row's state. NULL: no memory. */
static const char *find_title(const struct row *r)
{
	const struct hook *hook;

	if (!*r->state) {
		hook = lket_find_hook(r->class);
		*r->state = strdup(hook ? hook->name : r->class->name);
	}
	return *r->state;
}

/* The value, of a string without quotes. */
static void put_value(struct lket *l, const struct md_value *value)
{
	struct md_buf *out = &l->m->out;

	md_buf_reset(&l->text);
	switch (value ? md_value_show(value, &l->text) : MD_SHOWN_NONE) {
	case MD_SHOWN_NONE:
		md_buf_putc(out, '-');
		break;
	case MD_SHOWN_TEXT:
		md_json_escape_put(l->text.data, l->text.len, out);
		break;
	default:
		md_buf_put(out, l->text.data, l->text.len);
		break;
	}
	out->failed |= l->text.failed;
}

static void put_context(struct lket *l, const struct row *r, const char *label,
			const char *kernel, const char *user)
{
	uint32_t count = r->stream->context_count;
	int i = row_find(r->stream->context, count, kernel);

	if (i < 0 && user)
		i = row_find(r->stream->context, count, user);
	md_buf_puts(&l->m->out, label);
	put_value(l, i < 0 || r->torn ? NULL : &r->context[i]);
}

static void add_line(void *arg, const struct row *r)
{
	struct lket *l = arg;
	struct md_buf *out = &l->m->out;
	const char *title = find_title(r);

	if (!title) {
		l->m->err = -ENOMEM;
		return;
	}
	md_buf_printf(out, "%llu.%06u CPU:%u", (unsigned long long)(r->time / 1000000000),
		      (unsigned int)(r->time / 1000 % 1000000), r->cpu);
	put_context(l, r, " TID:", "tid", "vtid");
	put_context(l, r, ", PID:", "pid", "vpid");
	put_context(l, r, ", PPID:", "ppid", "vppid");
	put_context(l, r, ", APPNAME:", "procname", NULL);
	md_buf_printf(out, " EVT_NAME:%s ", title);
	for (uint32_t i = 0; i < r->class->field_count && !r->torn; i++) {
		md_buf_puts(out, r->names[r->stream->context_count + i].p);
		md_buf_putc(out, ':');
		put_value(l, &r->fields[i]);
		md_buf_putc(out, ',');
	}
	md_buf_putc(out, '\n');
}

void lket_make(struct maker *m)
{
	struct lket l = { .m = m };

	maker_run(m, ROW_VALUES, add_line, &l);
	md_buf_deinit(&l.text);
}
