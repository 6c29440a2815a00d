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
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/base.h"
#include "tracer/export/export.h"
#include "tracer/kevent/kevent.h"
#include "tracer/rule/hook.h"

/* What an event class is called. */
struct title {
	const struct md_event *class;   /* the key of lket.titles */
	const char *name;               /* of the hook, or of the class */
};

struct lket {
	struct maker *m;
	void *titles;           /* tree of struct title; owned (tsearch) */
	const struct title *last;       /* of the last event */
};

static int compare_titles(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)((const struct title *)a)->class,
		  y = (uintptr_t)((const struct title *)b)->class;

	return (x > y) - (x < y);
}

/* Whether events that the pattern (rule/kernel_pattern.h) records have this name. */
static bool is_name_of(const char *pattern, const char *event)
{
	const char *colon = strchr(pattern, ':');
	char system[64], name[KFORMAT_NAME_MAX + 1];

	if (!strncmp(pattern, "syscall:entry:", 14))
		return !strncmp(event, "syscall_entry_", 14) &&
		       glob_match(pattern + 14, event + 14);
	if (!strncmp(pattern, "syscall:exit:", 13))
		return !strncmp(event, "syscall_exit_", 13) && glob_match(pattern + 13, event + 13);
	if (!colon || !strcmp(pattern, event) || (size_t)(colon - pattern) >= sizeof(system))
		return !strcmp(pattern, event);
	memcpy(system, pattern, (size_t)(colon - pattern));
	system[colon - pattern] = '\0';
	return !kformat_event_name(system, colon + 1, false, name) && !strcmp(name, event);
}

static const char *find_hook(const char *event)
{
	/* First without stars: @iosyscall.read is nearer than @syscall. */
	for (int star = 0; star < 2; star++)
		for (size_t i = 0; i < hooks_count(); i++)
			for (size_t n = 0; n < hook_at(i)->count; n++) {
				const char *text = hook_at(i)->patterns[n].text;

				if (!strchr(text, '*') == !star && is_name_of(text, event))
					return hook_at(i)->name;
			}
	return NULL;
}

/* NULL: no memory. */
static const struct title *find_title(struct lket *l, const struct md_event *class, bool kernel)
{
	struct title key = { .class = class }, **found, *t;

	if (l->last && l->last->class == class)
		return l->last;
	found = tfind(&key, &l->titles, compare_titles);
	t = found ? *found : calloc(1, sizeof(*t));
	if (t && !found) {
		*t = (struct title){ class, kernel ? find_hook(class->name) : NULL };
		t->name = t->name ? t->name : class->name;
		if (!tsearch(t, &l->titles, compare_titles)) {
			free(t);
			t = NULL;
		}
	}
	l->last = t;
	return t;
}

/* The value without the quotes of a string. */
static void put_value(struct md_buf *out, struct json value)
{
	if (!value.n || *value.p == 'n')
		md_buf_putc(out, '-');
	else if (json_is_string(value))
		md_buf_put(out, value.p + 1, value.n - 2);
	else
		md_buf_put(out, value.p, value.n);
}

static void put_context(struct md_buf *out, const struct row *r, const char *label,
			const char *kernel, const char *user)
{
	struct json value = json_find(r->context, kernel);

	md_buf_puts(out, label);
	put_value(out, value.n || !user ? value : json_find(r->context, user));
}

static void add_line(void *arg, const struct row *r)
{
	struct lket *l = arg;
	struct md_buf *out = &l->m->out;
	/* Events of the kernel have no log level. */
	const struct title *t = find_title(l, r->class, r->class->loglevel == MD_LOGLEVEL_NONE);
	struct json fields = r->fields, name, value;

	if (!t) {
		l->m->err = -ENOMEM;
		return;
	}
	md_buf_printf(out, "%llu.%06u CPU:%u", (unsigned long long)(r->time / 1000000000),
		      (unsigned int)(r->time / 1000 % 1000000), r->cpu);
	put_context(out, r, " TID:", "tid", "vtid");
	put_context(out, r, ", PID:", "pid", "vpid");
	put_context(out, r, ", PPID:", "ppid", "vppid");
	put_context(out, r, ", APPNAME:", "procname", NULL);
	md_buf_printf(out, " EVT_NAME:%s ", t->name);
	for (uint32_t i = 0;
	     i < r->class->field_count && json_member(&fields, &name, &value); i++) {
		md_buf_put(out, name.p, name.n);
		md_buf_putc(out, ':');
		put_value(out, json_label(&r->class->fields[i], value));
		md_buf_putc(out, ',');
	}
	md_buf_putc(out, '\n');
}

void lket_make(struct maker *m)
{
	struct lket l = { .m = m };

	maker_run(m, true, add_line, &l);
	tdestroy(l.titles, free);
}
