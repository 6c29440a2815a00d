// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/app/app.h"
#include "tracer/app/layout.h"
#include "tracer/app/prepared_slots.h"
#include "tracer/app/selection.h"
#include "tracer/base/hash.h"
#include "tracer/session/session.h"
#include "tracer/session/trace_form.h"

bool session_wants(const struct session *s, struct app *a)
{
	return session_serves(s, a->file->uid) && session_has_clock(s, a->file->clock) &&
	       session_tracks(s, a->file->pid, a->file->uid, a->gid) &&
	       ((!a->pid && !a->outside) || session_tracks_cgroup(s, a->pid, &a->cgroups));
}

void app_comm(uint32_t pid, char *out, size_t size)
{
	char path[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, out, size - 1);
	if (fd >= 0)
		close(fd);
	while (n > 0 && out[n - 1] == '\n')
		n--;
	out[n > 0 ? n : 0] = 0;
	for (char *p = out; *p; p++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-.",
			    *p))
			*p = '_';
	if (out[0] == '.')
		out[0] = '_';
}

struct stream_group *owner_group(struct channel *c, const struct app *a)
{
	struct session *s = c->session;
	uint32_t pid = c->per_process ? a->pid : 0;
	struct trace_key key = { a->file->uid, pid, a->file->word_bits };
	struct trace *t = trace_find(s, key);
	char comm[17] = "";
	int err;

	session_take_clock(s, a->file->clock);
	if (!t) {
		if (pid)
			app_comm(pid, comm, sizeof(comm));
		t = trace_new(s, key, comm, NULL, 0);
		err = t ? session_save(s) : -ENOMEM;
		if (err) {
			channel_refuse_buffer(c, err);
			return NULL;
		}
	}
	/* Perhaps there was no descriptor for it the last time. */
	if (t->log_fd < 0 && (err = trace_open_log(s, t))) {
		channel_refuse_buffer(c, err);
		return NULL;
	}
	return group_get(c, t, true);
}

struct filter_event app_fields(const struct app *a, uint32_t event)
{
	const struct registration_event *e = &a->file->events[event];

	return (struct filter_event){ .fields = a->file->fields + e->first_field,
				      .field_count = e->field_count,
				      .strings = a->file->strings };
}

uint64_t app_wanted(struct channel *c, const struct app *a, uint32_t event, struct wanted *program)
{
	struct filter_event e = app_fields(a, event);

	if (a->file->events[event].refused)
		return 0;
	return event_wanted(c, a->file->events[event].name, a->file->events[event].level, &e,
			    a->file->uid, program);
}

static void selection_free(struct layout *layout, struct selection *s)
{
	prepared_slots_drop(layout, &s->prepared);
	free(s->sessions);
	free(s->channels);
	free(s->events);
	free(s);
}

void selection_put(struct selection *s)
{
	if (s)
		/* it stays in its layout's list: the next start of the program needs it */
		s->users--;
}

void selections_drop(struct layout *layout)
{
	while (layout->selections) {
		struct selection *s = layout->selections;

		layout->selections = s->next;
		selection_free(layout, s);
	}
}

/* Removes those that no application uses, but for the latest. */
static void drop_idle(struct layout *layout)
{
	struct selection **at = &layout->selections, *s;
	uint32_t idle = 0;

	while ((s = *at)) {
		if (s->users || idle++ < SELECTIONS_IDLE) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		selection_free(layout, s);
	}
}

static bool has_sessions_of(const struct selection *selection, struct tracer *t,
			    struct app *a)
{
	struct session *s;
	uint32_t n = 0;

	cds_list_for_each_entry(s, &t->sessions, node) {
		if (!session_wants(s, a))
			continue;
		if (n == selection->session_count || selection->sessions[n] != s)
			return false;
		n++;
	}
	return n == selection->session_count;
}

/*
 * A digest of the channels that want the event, and how: when it changes, the application has to
 * ask again.
 */
static uint64_t sign_event(struct selection *selection, const struct app *a, uint32_t event,
			   bool *wanting)
{
	uint64_t sum = 0, decision;
	uint32_t channel = 0;
	struct channel *c;

	for (uint32_t i = 0; i < selection->session_count; i++)
		cds_list_for_each_entry(c, &selection->sessions[i]->channels, node) {
			decision = app_wanted(c, a, event, NULL);
			wanting[channel++] |= decision != 0;
			if (decision)
				sum = hash_step(hash_step(sum, c->serial), decision) | 1;
		}
	return sum;
}

static bool collect_events(struct selection *selection, const struct app *a, bool *wanting)
{
	uint32_t room = 0;

	for (uint32_t e = 0; e < a->file->event_count; e++) {
		uint64_t signature = sign_event(selection, a, e, wanting);
		struct selected *more;

		if (!signature)
			continue;
		if (selection->count == room) {
			room = room ? 2 * room : 16;
			more = realloc(selection->events, room * sizeof(*more));
			if (!more)
				return false;
			selection->events = more;
		}
		selection->events[selection->count++] = (struct selected){ signature, e };
	}
	return true;
}

static uint32_t count_channels(const struct selection *selection)
{
	struct channel *c;
	uint32_t n = 0;

	for (uint32_t i = 0; i < selection->session_count; i++)
		cds_list_for_each_entry(c, &selection->sessions[i]->channels, node)
			n++;
	return n;
}

/* The channels that record an event. */
static bool collect_channels(struct selection *selection, const bool *wanting, uint32_t all)
{
	struct channel *c;
	uint32_t n = 0;

	selection->channels = calloc(all + 1, sizeof(*selection->channels));
	for (uint32_t i = 0; selection->channels && i < selection->session_count; i++)
		cds_list_for_each_entry(c, &selection->sessions[i]->channels, node)
			if (wanting[n++])
				selection->channels[selection->channel_count++] = c->serial;
	return selection->channels != NULL;
}

static bool collect(struct selection *selection, const struct app *a)
{
	uint32_t all = count_channels(selection);
	bool *wanting = calloc(all + 1, sizeof(*wanting)), ok;

	ok = wanting && collect_events(selection, a, wanting) &&
	     collect_channels(selection, wanting, all);
	free(wanting);
	return ok;
}

static struct selection *selection_create(struct tracer *t, struct app *a)
{
	struct selection *selection = calloc(1, sizeof(*selection));
	struct session *s;
	size_t n = 0;

	if (!selection)
		return NULL;
	selection->version = apps_of(t)->rules_version;
	cds_list_for_each_entry(s, &t->sessions, node)
		n++;
	selection->sessions = calloc(n + 1, sizeof(struct session *));
	if (selection->sessions)
		cds_list_for_each_entry(s, &t->sessions, node)
			if (session_wants(s, a))
				selection->sessions[selection->session_count++] = s;
	if (selection->sessions && collect(selection, a))
		return selection;
	selection_free(a->file->layout, selection);
	return NULL;
}

static bool is_equal(const struct selection *a, const struct selection *b)
{
	if (a->count != b->count || a->session_count != b->session_count ||
	    a->channel_count != b->channel_count ||
	    memcmp(a->sessions, b->sessions, a->session_count * sizeof(struct session *)) ||
	    memcmp(a->channels, b->channels, a->channel_count * sizeof(*a->channels)))
		return false;
	for (uint32_t i = 0; i < a->count; i++)
		if (a->events[i].event != b->events[i].event ||
		    a->events[i].signature != b->events[i].signature)
			return false;
	return true;
}

struct selection *selection_get(struct tracer *t, struct app *a)
{
	struct layout *layout = a->file->layout;
	struct selection *s, *new;

	for (s = layout->selections; s; s = s->next)
		if (s->version == apps_of(t)->rules_version && has_sessions_of(s, t, a)) {
			s->users++;
			return s;
		}
	for (s = layout->selections; s; s = s->next)
		if (s->version != apps_of(t)->rules_version)
			prepared_slots_drop(layout, &s->prepared);
	new = selection_create(t, a);
	if (!new)
		return NULL;
	/* The rules changed, but not for this layout. */
	for (s = layout->selections; s; s = s->next)
		if (is_equal(s, new)) {
			selection_free(layout, new);
			s->version = apps_of(t)->rules_version;
			s->users++;
			return s;
		}
	new->users = 1;
	new->next = layout->selections;
	layout->selections = new;
	drop_idle(layout);
	return new;
}

bool selection_has_channel(const struct selection *s, uint64_t serial)
{
	for (uint32_t i = 0; i < s->channel_count; i++)
		if (s->channels[i] == serial)
			return true;
	return false;
}
