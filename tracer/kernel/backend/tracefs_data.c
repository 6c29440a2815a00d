// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bytes that system calls are given. From Linux 6.19 on the tracepoint of write(2) and the like
 * records them without being asked. An event probe records the call without them
 * (tracefs_strings.c), so an instance has the tracepoint itself enabled only for a rule that asks
 * for the bytes. Such records get the id of the call's model, which is never enabled. So they
 * differ from records of the probe, which have the tracepoint's id.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/probe/format_line.h"
#include "tracer/kernel/backend/event_probe.h"
#include "tracer/kernel/backend/tracefs.h"

#define SYSTEM "syscalls"
#define ENTRY SYSTEM ":sys_enter_"

struct tracefs_data {
	pthread_mutex_t lock;           /* guards the rest */
	bool listed;
	struct md_buf calls;            /* lines sys_enter_NAME */
};

struct tracefs_data *tracefs_data_create(void)
{
	struct tracefs_data *d = calloc(1, sizeof(*d));

	if (d)
		pthread_mutex_init(&d->lock, NULL);
	return d;
}

void tracefs_data_destroy(struct tracefs_data *d)
{
	if (!d)
		return;
	md_buf_deinit(&d->calls);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

bool tracefs_takes_data(const char **system)
{
	if (strcmp(*system, BACKEND_DATA_SYSTEM) != 0)
		return false;
	*system = SYSTEM;
	return true;
}

/* Adds the call of a line of available_events, if its tracepoint records bytes. */
static void look_at_call(const struct backend *b, const char *line, size_t len)
{
	struct md_buf format = MD_BUF_INIT;
	char event[256];

	snprintf(event, sizeof(event), "%.*s", (int)(len - strlen(SYSTEM ":")),
		 line + strlen(SYSTEM ":"));
	if (!tracefs_read_format(b, SYSTEM, event, &format) &&
	    event_probe_reads_bytes(md_buf_str(&format)) && tracefs_has_text(b, SYSTEM, event))
		md_buf_printf(&b->data->calls, "%s\n", event);
	md_buf_deinit(&format);
}

static void look_at_calls(const struct backend *b, const char *events)
{
	for (const char *line = events; *line; line += *line == '\n') {
		size_t n = strcspn(line, "\n");

		if (n < 200 && !strncmp(line, ENTRY, strlen(ENTRY)))
			look_at_call(b, line, n);
		line += n;
	}
}

/* Whether the kernel has such records, and probes to leave the bytes out of others. */
static bool is_supported(const struct backend *b)
{
	struct md_buf text = MD_BUF_INIT;
	bool reads = tracefs_read(b->dir, "syscall_user_buf_size", 64, &text) > 0;

	md_buf_deinit(&text);
	return reads && tracefs_texts_supported(b);
}

void tracefs_data_list(const struct backend *b, const char *events, struct md_buf *out)
{
	struct tracefs_data *d = b->data;
	const char *line;

	if (!d)
		return;
	pthread_mutex_lock(&d->lock);
	if (!d->listed && is_supported(b))
		look_at_calls(b, events);
	d->listed = true;
	for (line = md_buf_str(&d->calls); *line; line += strcspn(line, "\n") + 1)
		md_buf_printf(out, BACKEND_DATA_SYSTEM ":%.*s\n", (int)strcspn(line, "\n"), line);
	out->failed |= d->calls.failed;
	pthread_mutex_unlock(&d->lock);
}

bool tracefs_is_data(const struct backend *b, const char *line, const char *end)
{
	char event[256];
	bool yes;

	if (strncmp(line, ENTRY, strlen(ENTRY)))
		return false;
	snprintf(event, sizeof(event), "%.*s", (int)(end - line - (ssize_t)strlen(SYSTEM ":")),
		 line + strlen(SYSTEM ":"));
	event[strcspn(event, "\n")] = '\0';
	yes = tracefs_has_text(b, SYSTEM, event);
	return yes && is_supported(b);
}

int tracefs_data_make(const struct backend *b, const char *event, uint16_t *ids)
{
	int id = tracefs_event_id(b, SYSTEM, event), as;

	as = id >= 0 && tracefs_has_text(b, SYSTEM, event)
		     ? tracefs_event_id(b, tracefs_text_model(b), event)
		     : -ENOENT;
	if (as < 0)
		return -ENOENT;
	/* As in tracefs_strings.c: records with the id come several system calls later. */
	__atomic_store_n(&ids[id], (uint16_t)as, __ATOMIC_RELAXED);
	return 0;
}

void tracefs_data_adopt(const struct backend *b, int instance, uint16_t *ids)
{
	struct md_buf text = MD_BUF_INIT;
	char *line, *save = NULL;

	if (tracefs_read(instance, "set_event", 1u << 20, &text) > 0) {
		md_buf_str(&text);
		for (line = strtok_r(text.data, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save))
			if (tracefs_is_data(b, line, line + strlen(line)))
				tracefs_data_make(b, line + strlen(SYSTEM ":"), ids);
	}
	md_buf_deinit(&text);
}

int tracefs_data_format(const struct backend *b, const char *event, struct md_buf *out)
{
	struct md_buf text = MD_BUF_INIT;
	struct span print;
	struct format_line l;
	const char *at;
	uint16_t *ids = calloc(UINT16_MAX + 1, sizeof(*ids));
	int id = tracefs_event_id(b, SYSTEM, event), ret;

	ret = !ids ? -ENOMEM : tracefs_data_make(b, event, ids);
	if (!ret)
		ret = tracefs_read_format(b, SYSTEM, event, &text);
	at = strstr(md_buf_str(&text), "\nprint fmt:");
	print = SPAN(at ? at : "");
	for (const char *line = md_buf_str(&text); !ret && *line; line += *line == '\n') {
		size_t n = strcspn(line, "\n");

		if (!strncmp(line, "ID:", 3))
			md_buf_printf(out, "ID: %u\n", ids[id]);
		else if (format_line_parse((struct span){ line, line + n }, &l) > 0 &&
			 span_skip(&l.type, "__data_loc ") && format_prints_bytes(print, l.name))
			md_buf_printf(out, "\tfield:__data_loc bytes[] data%.*s\n",
				      (int)span_length(l.rest), l.rest.p);
		else
			md_buf_printf(out, "%.*s\n", (int)n, line);
		line += n;
	}
	free(ids);
	md_buf_deinit(&text);
	return ret;
}
