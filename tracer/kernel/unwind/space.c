// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/unwind/space.h"

#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/base/search.h"

#define MAPPINGS_MAX 8192u

struct unwind_space {
	struct unwind_mapping *all;     /* by `start`; they do not overlap; owned */
	size_t count;
};

struct unwind_space *unwind_space_create(void)
{
	return calloc(1, sizeof(struct unwind_space));
}

struct unwind_space *unwind_space_copy(const struct unwind_space *from)
{
	struct unwind_space *s = unwind_space_create();

	if (!s || !array_room(s->all, from->count)) {
		free(s);
		return NULL;
	}
	/* (Both arrays may be NULL if there is no mapping.) */
	if (from->count)
		memcpy(s->all, from->all, from->count * sizeof(*s->all));
	s->count = from->count;
	for (size_t i = 0; i < s->count; i++)
		if (s->all[i].file)
			s->all[i].file->uses++;
	return s;
}

void unwind_space_free(struct unwind_space *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		unwind_file_release(s->all[i].file);
	free(s->all);
	free(s);
}

const struct unwind_mapping *unwind_space_find(const struct unwind_space *s, uint64_t address)
{
	size_t i = search_above(s->all, s->count, sizeof(*s->all), address);

	if (!i || address - s->all[i - 1].start >= s->all[i - 1].size)
		return NULL;
	return &s->all[i - 1];
}

/* Removes old mappings at the addresses of a new one; of a longer one, a part stays. */
static void make_room(struct unwind_space *s, uint64_t start, uint64_t size)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->count; i++) {
		struct unwind_mapping m = s->all[i];

		if (m.start < start + size && m.start + m.size > start) {
			if (m.start < start) {
				m.size = start - m.start;
			} else if (m.start + m.size > start + size) {
				m.size = m.start + m.size - (start + size);
				m.address += start + size - m.start;
				m.start = start + size;
			} else {
				unwind_file_release(m.file);
				continue;
			}
		}
		s->all[kept++] = m;
	}
	s->count = kept;
}

/* The address in the file of the byte at an offset, by its segments. */
static uint64_t file_address(const struct unwind_table *t, uint64_t offset, uint64_t size)
{
	for (uint32_t i = 0; i < t->segment_count; i++) {
		const struct unwind_segment *s = &t->segments[i];

		/* A mapping begins with a page, a segment in one. */
		if (s->executable && s->offset < offset + size && offset < s->offset + s->size)
			return s->address + (offset - s->offset);
	}
	return offset;
}

void unwind_space_add(struct unwinder *u, struct unwind_space *s, int process,
		      const struct code_mapping *m)
{
	struct unwind_mapping new = { .start = m->start, .size = m->size };
	size_t at;

	if (!m->size || m->start + m->size < m->start)
		return;
	make_room(s, m->start, m->size);
	if (s->count >= MAPPINGS_MAX || !array_room(s->all, s->count + 1))
		return;
	new.file = unwinder_file(u, process, m);
	if (new.file)
		new.address = file_address(&new.file->table, m->offset, m->size);
	at = search_above(s->all, s->count, sizeof(*s->all), m->start);
	memmove(s->all + at + 1, s->all + at, (s->count - at) * sizeof(*s->all));
	s->all[at] = new;
	s->count++;
}

struct reading {
	struct unwinder *u;
	struct unwind_space *s;
	int process;
};

static int add(void *arg, const struct code_mapping *m)
{
	const struct reading *r = arg;

	unwind_space_add(r->u, r->s, r->process, m);
	return 0;
}

void unwind_space_read(struct unwinder *u, struct unwind_space *s, int process)
{
	struct reading r = { u, s, process };

	code_maps_read(process, add, &r);
}
