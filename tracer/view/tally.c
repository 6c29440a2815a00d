/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/program.h"
#include "tracer/base/array.h"
#include "tracer/base/hash.h"
#include "tracer/view/tally.h"

#define SLOTS (2 * TALLY_PROCESSES)     /* a power of two */
#define STEPS 64u               /* chosen collisions do not make a search longer */

/* ---- streams ---- */

int tally_init(struct tally *t, size_t streams)
{
	*t = (struct tally){ 0 };
	t->streams = calloc(streams + 1, sizeof(*t->streams));
	t->processes = calloc(TALLY_PROCESSES + 1, sizeof(*t->processes));
	t->slots = calloc(SLOTS, sizeof(*t->slots));
	t->process_count = 1;
	return t->streams && t->processes && t->slots ? 0 : -ENOMEM;
}

void tally_deinit(struct tally *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->streams[i].events);
	free(t->streams);
	free(t->processes);
	free(t->slots);
}

void tally_sum(struct tally *t)
{
	t->events = t->last = 0;
	t->first = UINT64_MAX;
	for (size_t i = 0; i < t->count; i++) {
		const struct tally_stream *s = &t->streams[i];

		t->events += s->count;
		if (s->count && s->first < t->first)
			t->first = s->first;
		if (s->count && s->last > t->last)
			t->last = s->last;
		if (s->constant)
			t->processes[s->process].events += s->count;
	}
}

static bool is_same_process(const struct process_tally *a, const struct process_tally *b)
{
	return a->domain == b->domain && a->pid == b->pid && a->tid == b->tid &&
	       a->named == b->named && !strcmp(a->name, b->name);
}

/* The index of this process; 0: there is no room. */
static uint32_t find_process(struct tally *t, const struct process_tally *p)
{
	uint64_t h = hash_string(HASH_START, p->name);
	uint32_t i, steps = 0;

	h = hash_step(h, (uint64_t)p->pid);
	h = hash_step(h, (uint64_t)p->tid);
	h = hash_step(h, p->domain);
	/* At most half of the slots are used. */
	for (i = (uint32_t)(h >> 32) % SLOTS; t->slots[i] && steps < STEPS; steps++) {
		if (is_same_process(&t->processes[t->slots[i]], p))
			return t->slots[i];
		i = (i + 1) % SLOTS;
	}
	if (t->process_count > TALLY_PROCESSES || steps == STEPS)
		return 0;
	t->slots[i] = t->process_count;
	t->processes[t->process_count] = *p;
	return t->process_count++;
}

/* The name of the event's process: what struct process_tally has room for; "": it has none. */
static const char *name_of(const struct tally_stream *s, const struct md_occurrence *o, size_t *n)
{
	const size_t most = sizeof(((struct process_tally *)0)->name) - 1;
	struct md_value v;
	const char *name;

	if (!md_access_value(&s->name, o, &v) || !md_value_string(&v, &name, n)) {
		*n = 0;
		return "";
	}
	*n = *n < most ? *n : most;
	return name;
}

bool tally_same_name(const struct tally_stream *s, const struct md_occurrence *o,
		     const struct process_tally *p)
{
	size_t n;
	const char *name = name_of(s, o, &n);

	return strlen(p->name) == n && !memcmp(p->name, name, n);
}

void tally_new_process(struct tally *t, struct tally_stream *s, const struct md_occurrence *o)
{
	struct process_tally p = { .domain = s->domain, .pid = -1, .tid = -1 };
	const char *name;
	uint64_t number;
	size_t n;

	if (s->pid.type && md_access_integer(&s->pid, o, &number))
		p.pid = (int64_t)number;
	else if (!s->pid.type && s->tid.type && md_access_integer(&s->tid, o, &number))
		p.tid = (int64_t)number;
	if (s->name.type) {
		p.named = true;
		name = name_of(s, o, &n);
		memcpy(p.name, name, n);
	}
	s->process = find_process(t, &p);
}

/* Finds the contexts that say whose event it is. */
static void find_contexts(struct tally_stream *s)
{
	const struct md_stream *class = s->stream.class;
	struct md_process p = md_access_process(class);
	const struct md_type *t;

	md_route_context(class, p.pid, &s->pid);
	md_route_context(class, p.tid, &s->tid);
	if (!md_route_context(class, p.name, &s->name))
		return;
	t = s->name.type;
	if (t->kind != MD_STRING && !(t->element && md_type_is_text(t->element)))
		s->name = (struct md_route){ 0 };
	else if (t->kind == MD_ARRAY && !s->name.count &&
		 t->count < sizeof(((struct process_tally *)0)->name))
		s->name_size = t->count;
}

void tally_add(struct tally *t, const struct stream *stream)
{
	struct tally_stream *s = &t->streams[t->count++];
	bool is_kernel = stream->trace->uid == KERNEL_UID;

	*s = (struct tally_stream){ .stream = *stream, .process = TALLY_NO_PROCESS };
	s->domain = is_kernel ? DOMAIN_KERNEL : DOMAIN_USER;
	find_contexts(s);
	s->varies = s->pid.type || s->tid.type || s->name.type;
	if (stream->trace->pid) {
		struct process_tally p = { .domain = s->domain, .pid = stream->trace->pid,
					   .tid = -1, .named = true };

		strncpy(p.name, stream->trace->comm, sizeof(p.name) - 1);
		s->process = find_process(t, &p);
		s->constant = true;
		s->varies = false;
	}
}

struct tally_event *tally_new_event(struct tally_stream *s, const struct md_event *e)
{
	uint32_t size = s->size ? s->size : 32;

	while (size <= e->id)
		size *= 2;
	if (size > s->size) {
		if (!array_extend(s->events, s->size, size))
			return NULL;
		s->size = size;
	}
	s->events[e->id].class = e;
	return &s->events[e->id];
}
