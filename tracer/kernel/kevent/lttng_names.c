/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lookups of LTTng's names: see kevent/lttng_names.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tracer/base/base.h"
#include "tracer/kernel/kevent/kevent.h"
#include "tracer/kernel/kevent/lttng_names.h"

#define ROWS(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	const char *system, *event, *name;
} events[] = {
#define EVENT(system, event, name) { system, event, name },
#include "tracer/kernel/kevent/lttng_names.def"
#undef EVENT
};

static const struct {
	const char *system, *begins, *prefix;
} prefixes[] = {
#define PREFIX(system, begins, prefix) { system, begins, prefix },
#include "tracer/kernel/kevent/lttng_names.def"
#undef PREFIX
};

static const struct kname_integer integers[] = {
#define INTEGER(type, size, is_signed) { type, size, is_signed },
#include "tracer/kernel/kevent/lttng_names.def"
#undef INTEGER
};

static const struct kname_field fields[] = {
#define FIELD(event, field, name, type) { event, field, name, KNAME_##type },
#include "tracer/kernel/kevent/lttng_names.def"
#undef FIELD
};

#define COMMON_PID NULL
static const struct kname_added added[] = {
#define ADDED(event, field, name) { event, field, name },
#include "tracer/kernel/kevent/lttng_names.def"
#undef ADDED
};

static const struct kname_label labels[] = {
#define LABEL(event, field, value, name) { event, field, value, name },
#include "tracer/kernel/kevent/lttng_names.def"
#undef LABEL
};

static const struct {
	const char *begins, *prefix;
} calls[] = {
	{ "sys_enter_", "syscall_entry_" }, { "sys_exit_", "syscall_exit_" },
	{ "compat_sys_enter_", "compat_syscall_entry_" },
	{ "compat_sys_exit_", "compat_syscall_exit_" },
};

/* The two parts of an event's name. */
static void split_name(const char *system, const char *event, const char **first,
		       const char **second)
{
	size_t i;

	*first = "";
	*second = event;
	for (i = 0; i < ROWS(calls) && !strcmp(system, "syscalls"); i++) {
		if (begins_with(event, calls[i].begins)) {
			*first = calls[i].prefix;
			*second = event + strlen(calls[i].begins);
			return;
		}
	}
	for (i = 0; i < ROWS(events); i++) {
		if (!strcmp(events[i].system, system) && !strcmp(events[i].event, event)) {
			*second = events[i].name;
			return;
		}
	}
	for (i = 0; i < ROWS(prefixes); i++) {
		if (strcmp(prefixes[i].system, system))
			continue;
		if (!*prefixes[i].begins || !begins_with(event, prefixes[i].begins))
			*first = prefixes[i].prefix;
		return;
	}
}

int kformat_event_name(const char *system, const char *event, bool prefixed,
		       char name[KFORMAT_NAME_MAX + 1])
{
	const char *first = system, *second = event;
	int n;

	if (!prefixed)
		split_name(system, event, &first, &second);
	n = snprintf(name, KFORMAT_NAME_MAX + 1, "%s%s%s", first, prefixed ? "_" : "", second);
	return n < 0 || n > KFORMAT_NAME_MAX ? -ENAMETOOLONG : 0;
}

static bool match_event(const char *pattern, const char *event)
{
	size_t n = strlen(pattern);

	if (n && pattern[n - 1] == '*')
		return !strncmp(pattern, event, n - 1);
	return !strcmp(pattern, event);
}

/* The tables have the names of 64-bit programs' calls for those of 32-bit ones. */
static const char *native_name(const char *event)
{
	return begins_with(event, "compat_syscall_") ? event + strlen("compat_") : event;
}

const struct kname_field *kname_field(const char *event, const char *field)
{
	size_t i;

	event = native_name(event);
	for (i = 0; i < ROWS(fields); i++) {
		if (!strcmp(fields[i].field, field) && match_event(fields[i].event, event))
			return &fields[i];
	}
	return NULL;
}

const struct kname_added *kname_added(const char *event, uint32_t row)
{
	size_t i;

	for (i = 0; i < ROWS(added); i++) {
		if (!strcmp(added[i].event, event) && !row--)
			return &added[i];
	}
	return NULL;
}

const struct kname_label *kname_label(const char *event, const char *field, uint32_t row)
{
	size_t i;

	event = native_name(event);
	for (i = 0; i < ROWS(labels); i++) {
		if (!strcmp(labels[i].event, event) && !strcmp(labels[i].field, field) && !row--)
			return &labels[i];
	}
	return NULL;
}

const struct kname_integer *kname_integer(const char *type)
{
	size_t i;

	if (begins_with(type, "const "))
		type += strlen("const ");
	for (i = 0; i < ROWS(integers); i++) {
		if (!strcmp(integers[i].type, type))
			return &integers[i];
	}
	return NULL;
}
