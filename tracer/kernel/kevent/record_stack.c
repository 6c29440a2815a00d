/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events and the stacks that the kernel records after them: see kevent/record_stack.h. */
#include "tracer/kernel/kevent/record_stack.h"

#include <stdlib.h>
#include <string.h>

#include "metadata/number.h"
#include "tracer/kernel/kevent/ring_page.h"

#define WAITING_MAX 4096u               /* events */
#define BYTES_MAX (4u << 20)

/* common_flags */
#define FLAG_HARDIRQ 0x08
#define FLAG_SOFTIRQ 0x10
#define FLAG_NMI 0x40

struct waiting_record {
	uint64_t time;
	size_t at;                      /* in the bytes */
	uint32_t len;
	uint8_t level;
	bool left;                      /* the kernel has left it: it gets no more stacks */
	bool has[RECORD_STACKS];
	size_t stack_at[RECORD_STACKS];
	uint32_t stack_count[RECORD_STACKS];
};

static const struct kformat_field *find_field(const struct kformat *f, const char *name)
{
	for (uint32_t i = 0; i < f->field_count; i++)
		if (!strcmp(f->fields[i].kernel_name, name))
			return &f->fields[i];
	return NULL;
}

struct record_stack_layout record_stack_layout(const struct kformat *f)
{
	const struct kformat_field *caller = find_field(f, "caller"), *size = find_field(f, "size");

	if (!caller || caller->offset < KRECORD_HEADER || f->id > UINT16_MAX ||
	    (caller->from != 4 && caller->from != 8) ||
	    (size && (size->size != 4 || size->offset < KRECORD_HEADER)))
		return (struct record_stack_layout){ 0 };
	return (struct record_stack_layout){ .id = (uint16_t)f->id,
					     .at = caller->offset,
					     .count_at = size ? size->offset : 0,
					     .word = caller->from };
}

static uint8_t level_of(const uint8_t *record)
{
	uint8_t flags = record[2];

	return flags & FLAG_NMI ? 3 : flags & FLAG_HARDIRQ ? 2 : flags & FLAG_SOFTIRQ ? 1 : 0;
}

static bool same_context(const uint8_t *a, const uint8_t *b)
{
	return !memcmp(a + 2, b + 2, KRECORD_HEADER - 2);
}

/* The place of the copy; SIZE_MAX: no memory. */
static size_t copy_bytes(struct record_stacks *s, const uint8_t *bytes, size_t len)
{
	size_t room = s->room ? s->room : 4096, at = s->used;
	uint8_t *more;

	while (room - at < len)
		room *= 2;
	if (room > BYTES_MAX)
		return SIZE_MAX;
	if (room > s->room) {
		more = realloc(s->bytes, room);
		if (!more)
			return SIZE_MAX;
		s->bytes = more;
		s->room = room;
	}
	memcpy(s->bytes + at, bytes, len);
	s->used += len;
	return at;
}

static bool is_complete(const struct record_stacks *s, const struct waiting_record *w)
{
	for (int i = 0; i < RECORD_STACKS && !w->left; i++)
		if (s->wanted[i] && s->layouts[i].id && !w->has[i])
			return false;
	return true;
}

static void pass_record(struct record_stacks *s, const struct waiting_record *w)
{
	struct record_stack stacks[RECORD_STACKS];

	for (int i = 0; i < RECORD_STACKS; i++)
		stacks[i] = (struct record_stack){ s->bytes + w->stack_at[i], w->stack_count[i] };
	s->pass(s->arg, w->time, s->bytes + w->at, w->len, stacks);
}

static void pass_complete(struct record_stacks *s, bool all)
{
	while (s->done < s->count && (all || is_complete(s, &s->waiting[s->done])))
		pass_record(s, &s->waiting[s->done++]);
	if (s->done == s->count)
		s->done = s->count = s->used = 0;
}

#define ALL_ONES UINT64_MAX

/* All ones are UINT64_MAX, of an address of 4 bytes, too. */
static uint64_t load_address(const uint8_t *p, uint32_t word)
{
	uint64_t v = md_load(p, word, MD_HOST_IS_BIG);

	return word == 4 && v == UINT32_MAX ? ALL_ONES : v;
}

/* Copies a stack's addresses. Marks of trampolines, all ones, are left out. */
static void take_stack(struct record_stacks *s, struct waiting_record *w, int kind,
		       const uint8_t *record, size_t len)
{
	const struct record_stack_layout *l = &s->layouts[kind];
	size_t n = len > l->at ? (len - l->at) / l->word : 0, at;
	uint32_t count = 0, said = UINT32_MAX;
	uint64_t address;

	if (l->count_at && len >= l->count_at + 4)
		memcpy(&said, record + l->count_at, sizeof(said));
	n = n < said ? n : said;
	w->has[kind] = true;
	w->stack_at[kind] = s->used;
	for (size_t i = 0; i < n; i++) {
		address = load_address(record + l->at + l->word * i, l->word);
		if (!address)
			break;
		if (address == ALL_ONES)
			continue;
		if (count == RECORD_STACK_MAX)
			address = ALL_ONES;
		at = copy_bytes(s, (const uint8_t *)&address, sizeof(address));
		count += at != SIZE_MAX;
		if (at == SIZE_MAX || count > RECORD_STACK_MAX)
			break;
	}
	w->stack_count[kind] = count;
}

static void add_stack(struct record_stacks *s, int kind, const uint8_t *record, size_t len)
{
	struct waiting_record *w;

	for (size_t i = s->count; s->wanted[kind] && i-- > s->done;) {
		w = &s->waiting[i];
		if (w->left || w->has[kind] || !same_context(s->bytes + w->at, record))
			continue;
		take_stack(s, w, kind, record, len);
		pass_complete(s, false);
		return;
	}
}

static void add_event(struct record_stacks *s, uint64_t time, const uint8_t *record, size_t len)
{
	static const struct record_stack none[RECORD_STACKS];
	struct waiting_record *w;
	uint8_t level = level_of(record);
	size_t at;

	for (size_t i = s->done; i < s->count; i++)
		s->waiting[i].left |= s->waiting[i].level >= level;
	pass_complete(s, s->count >= WAITING_MAX);
	at = copy_bytes(s, record, len);
	if (at == SIZE_MAX) {           /* too many that wait */
		record_stacks_flush(s);
		at = copy_bytes(s, record, len);
	}
	if (at != SIZE_MAX && !s->waiting)
		s->waiting = calloc(WAITING_MAX, sizeof(*s->waiting));
	if (at == SIZE_MAX || !s->waiting) {
		record_stacks_flush(s);
		s->pass(s->arg, time, record, len, none);
		return;
	}
	w = &s->waiting[s->count++];
	*w = (struct waiting_record){ .time = time, .at = at, .len = (uint32_t)len,
				      .level = level };
}

void record_stacks_add(struct record_stacks *s, uint64_t time, const uint8_t *record, size_t len)
{
	uint16_t id = krecord_id(record);

	for (int i = 0; i < RECORD_STACKS; i++)
		if (s->layouts[i].id && s->layouts[i].id == id) {
			add_stack(s, i, record, len);
			return;
		}
	add_event(s, time, record, len);
	pass_complete(s, false);
}

bool record_stacks_wait(const struct record_stacks *s)
{
	return s->count;
}

void record_stacks_flush(struct record_stacks *s)
{
	pass_complete(s, true);
}

void record_stacks_deinit(struct record_stacks *s)
{
	free(s->waiting);
	free(s->bytes);
}
