// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The traces of a session: one for each owner of events (a user, a process, the kernel), with the
 * environment that LTTng's traces have. Caller holds tracer.lock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <uuid/uuid.h>

#include "metadata/ctf.h"
#include "tracer/base/timefmt.h"
#include "tracer/session/session.h"
#include "tracer/session/trace_form.h"

struct trace *trace_find(struct session *s, struct trace_key key)
{
	struct trace *t;

	for (t = s->traces; t; t = t->next)
		if (t->uid == key.uid && t->pid == key.pid && t->word_bits == key.word_bits)
			return t;
	return NULL;
}

/* Which host it was, and which of its boots: the traces of many hosts are read together. */
static int set_host_env(struct trace *t, const struct session *s)
{
	char boot[37];
	int err = md_trace_env(t->md, "hostname", t->hostname, 0);

	uuid_unparse_lower(s->tracer->clock.uuid, boot);
	return err | md_trace_env(t->md, "boot_id", boot, 0);
}

/* Sets the environment of LTTng-UST's traces: Trace Compass chooses its analyses by it. */
static int set_env(struct trace *t, const struct session *s)
{
	struct md_trace *md = t->md;
	char when[TIME_TEXT_MAX];
	int err = 0;

	time_print(t->pid ? t->created : s->created, TIME_FORMAT_TRACE, when);
	err |= md_trace_env(md, "domain", "ust", 0);
	err |= md_trace_env(md, "tracer_name", "lttng-ust", 0);
	err |= md_trace_env(md, "tracer_major", NULL, 2);
	err |= md_trace_env(md, "tracer_minor", NULL, 13);
	err |= md_trace_env(md, "tracer_buffering_scheme", t->pid ? "pid" : "uid", 0);
	err |= md_trace_env(md, "tracer_buffering_id", NULL, t->pid ? t->pid : t->uid);
	err |= md_trace_env(md, "architecture_bit_width", NULL, t->word_bits);
	err |= md_trace_env(md, "trace_name", s->name, 0);
	err |= md_trace_env(md, "trace_creation_datetime", when, 0);
	err |= set_host_env(t, s);
	if (t->pid) {
		err |= md_trace_env(md, "tracer_patchlevel", NULL, 0);
		err |= md_trace_env(md, "vpid", NULL, t->pid);
		err |= md_trace_env(md, "procname", t->comm, 0);
		err |= md_trace_env(md, "vpid_datetime", when, 0);
	}
	return err;
}

/* Sets the environment of traces of LTTng's kernel tracer. */
static int set_kernel_env(struct trace *t, const struct session *s)
{
	struct md_trace *md = t->md;
	struct utsname un = { 0 };
	char when[TIME_TEXT_MAX];
	int err = 0;

	uname(&un);
	time_print(s->created, TIME_FORMAT_TRACE, when);
	err |= set_host_env(t, s);
	err |= md_trace_env(md, "domain", "kernel", 0);
	err |= md_trace_env(md, "sysname", un.sysname, 0);
	err |= md_trace_env(md, "kernel_release", un.release, 0);
	err |= md_trace_env(md, "kernel_version", un.version, 0);
	err |= md_trace_env(md, "tracer_name", "lttng-modules", 0);
	err |= md_trace_env(md, "tracer_major", NULL, 2);
	err |= md_trace_env(md, "tracer_minor", NULL, 13);
	err |= md_trace_env(md, "tracer_patchlevel", NULL, 0);
	err |= md_trace_env(md, "trace_buffering_scheme", "global", 0);
	err |= md_trace_env(md, "trace_name", s->name, 0);
	err |= md_trace_env(md, "trace_creation_datetime", when, 0);
	return err;
}

/* Sets the path of the trace below trace/, and the owner of its streams. */
static void set_names(struct trace *t)
{
	char when[TIME_TEXT_MAX];

	time_print(t->created, TIME_FORMAT_NAME, when);
	if (t->uid == KERNEL_UID) {
		snprintf(t->path, sizeof(t->path), OWNER_KERNEL);
		snprintf(t->owner, sizeof(t->owner), OWNER_KERNEL);
		return;
	}
	if (t->pid)
		snprintf(t->path, sizeof(t->path), "ust/pid/%s-%u-%s",
			 t->comm[0] ? t->comm : "unknown", t->pid, when);
	else
		snprintf(t->path, sizeof(t->path), "ust/uid/%u/%u-bit", t->uid, t->word_bits);
	snprintf(t->owner, sizeof(t->owner), t->word_bits == 64 ? "%u" : "%u-%u-bit",
		 t->pid ? t->pid : t->uid, t->word_bits);
}

static bool is_path_taken(const struct session *s, const struct trace *new)
{
	for (const struct trace *t = s->traces; t; t = t->next)
		if (!strcmp(t->path, new->path))
			return true;
	return false;
}

struct trace *trace_new(struct session *s, struct trace_key key, const char *comm,
			const uint8_t *uuid, int64_t created)
{
	struct trace *t = calloc(1, sizeof(*t));
	uint8_t fresh[16];

	if (!t)
		return NULL;
	if (!uuid)
		uuid_generate(fresh);
	t->refs = 1;
	t->log_fd = -1;
	t->uid = key.uid;
	t->pid = key.pid;
	t->word_bits = key.word_bits;
	t->created = created ? created : wall_clock();
	lock_init(&t->lock, NULL, LOCK_TRACE);
	snprintf(t->comm, sizeof(t->comm), "%s", comm ? comm : "");
	snprintf(t->hostname, sizeof(t->hostname), "%s", s->tracer->hostname);
	set_names(t);
	/* A process with the same number and name, which began within the same second */
	for (; !created && key.pid && is_path_taken(s, t); set_names(t))
		t->created += 1000000000;
	t->md = md_trace_create(uuid ? uuid : fresh);
	if (!t->md || (t->uid == KERNEL_UID ? set_kernel_env(t, s) : set_env(t, s))) {
		trace_put(t);
		return NULL;
	}
	trace_set_form(t, s);
	t->index = s->next_trace++;
	t->next = s->traces;
	s->traces = t;
	return t;
}

struct trace *kernel_trace(struct session *s)
{
	struct trace *t = trace_find(s, kernel_trace_key);

	if (!t) {
		t = trace_new(s, kernel_trace_key, NULL, NULL, 0);
		if (!t || session_save(s))
			return NULL;
	}
	/* The last attempt may have failed for want of a descriptor. */
	return t->log_fd >= 0 || trace_open_log(s, t) == 0 ? t : NULL;
}
