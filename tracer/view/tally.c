/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/base/hash.h"
#include "tracer/view/tally.h"

#define SLOTS (2 * TALLY_PROCESSES)     /* a power of two */
#define STEPS 64u               /* chosen collisions do not make a search longer */

/* ---- places ---- */

/* Bytes of the type; 0: that depends on the event, or it is too large. */
static uint32_t fixed_size(const struct md_type *t, unsigned int depth)
{
	uint64_t size = 0;

	switch (t->kind) {
	case MD_INT:
	case MD_FLOAT:
	case MD_ENUM:
		return t->size;
	case MD_ARRAY:
		size = depth ? (uint64_t)t->count * fixed_size(t->element, depth - 1) : 0;
		return size < 65536 ? (uint32_t)size : 0;
	default:
		return 0;
	}
}

static bool is_readable(const struct md_type *t)
{
	if (t->kind == MD_ARRAY)
		return t->element->kind == MD_INT && t->element->size == 1;
	return (t->kind == MD_INT || t->kind == MD_ENUM) && !t->big_endian && !t->bits;
}

struct place place_of(const struct md_field *fields, uint32_t count, const char *name)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < count && at < 65536; i++) {
		const struct md_type *t = &fields[i].type;
		uint32_t size = fixed_size(t, 2);

		if (!size)
			break;
		if (!strcmp(fields[i].name, name) && is_readable(t))
			return (struct place){ (uint32_t)at, size, t->is_signed };
		at += size;
	}
	return (struct place){ 0 };
}

int64_t place_load(const uint8_t *fields, struct place at)
{
	const uint8_t *p = fields + at.at;
	uint64_t v = 0;

	uint32_t n = at.size < 8 ? at.size : 8;

	/* In the host's byte order: metadata/model.h */
	for (uint32_t i = 0; i < n; i++)
		v = v << 8 | p[MD_HOST_IS_BIG ? i : n - 1 - i];
	if (at.is_signed && at.size < 8 && v >> (8 * at.size - 1))
		v |= UINT64_MAX << (8 * at.size);
	return (int64_t)v;
}

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

static bool is_same_process(const struct process *a, const struct process *b)
{
	return a->domain == b->domain && a->pid == b->pid && a->tid == b->tid &&
	       a->named == b->named && !strcmp(a->name, b->name);
}

/* The index of this process; 0: there is no room. */
static uint32_t find_process(struct tally *t, const struct process *p)
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

void tally_new_process(struct tally *t, struct tally_stream *s, const uint8_t *contexts)
{
	struct process p = { .domain = s->domain, .pid = -1, .tid = -1 };

	if (s->pid.size)
		p.pid = place_number(contexts, s->pid);
	else if (s->tid.size)
		p.tid = place_number(contexts, s->tid);
	if (s->name.size) {
		p.named = true;
		memcpy(p.name, contexts + s->name.at, s->name.size);
		/* Nothing after the end of the name, so that equal names are equal. */
		memset(p.name + strlen(p.name), 0, sizeof(p.name) - strlen(p.name));
	}
	s->process = find_process(t, &p);
}

void tally_add(struct tally *t, const struct stream *stream)
{
	struct tally_stream *s = &t->streams[t->count++];
	const struct md_field *contexts = stream->class->context;
	uint32_t n = stream->class->context_count;
	bool is_kernel = stream->trace->uid == KERNEL_UID;

	*s = (struct tally_stream){ .stream = *stream, .process = TALLY_NO_PROCESS };
	s->domain = is_kernel ? DOMAIN_KERNEL : DOMAIN_USER;
	s->pid = is_kernel ? place_of(contexts, n, "pid") : (struct place){ 0 };
	if (!s->pid.size)
		s->pid = place_of(contexts, n, "vpid");
	s->tid = is_kernel ? place_of(contexts, n, "tid") : (struct place){ 0 };
	if (!s->tid.size)
		s->tid = place_of(contexts, n, "vtid");
	s->name = place_of(contexts, n, "procname");
	if (s->name.size >= sizeof(t->processes->name))
		s->name.size = 0;
	s->varies = s->pid.size || s->tid.size || s->name.size;
	if (stream->trace->pid) {
		struct process p = { .domain = s->domain, .pid = stream->trace->pid, .tid = -1,
				     .named = true };

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
