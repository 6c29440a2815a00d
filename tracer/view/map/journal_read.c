// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the journal of a map (journal.c), of whose contents nothing is believed unchecked. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/os/state_file.h"
#include "tracer/base/pack.h"
#include "tracer/base/ring/reader.h"
#include "tracer/view/map/map.h"

#define FILE_MAX ((size_t)2 << 30)      /* bytes */

struct pass {
	uint64_t region, head, ts, events, lost;
	uint32_t ring;
};

struct reading {
	struct map *m;
	struct md_unpack in;
	uint64_t identity;
	struct pass *passes;            /* of the last record; owned */
	size_t pass_count;
};

static const uint8_t *take_bytes(struct md_unpack *in, size_t *n)
{
	const uint8_t *p;

	*n = md_unpack_number(in, 4);
	if (in->bad || *n > (size_t)(in->end - in->p)) {
		in->bad = true;
		*n = 0;
		return NULL;
	}
	p = in->p;
	in->p += *n;
	return p;
}

/* The bytes are `count` values of a key. */
static bool is_key(const uint8_t *p, size_t len, size_t count)
{
	const uint8_t *end = p + len;

	for (; count && end - p >= 2; count--) {
		if (*p < MAP_SIGNED || *p > MAP_TEXT || map_key_value_size(p) > (size_t)(end - p))
			return false;
		p += map_key_value_size(p);
	}
	return !count && p == end;
}

static size_t key_values(const struct map_rule *r)
{
	return r->increments ? 1 : r->by_count;
}

/* The rule of an entry; NULL: it can have none. */
static struct map_state *state_of(struct reading *f, const struct map_rule **r)
{
	size_t i = md_unpack_number(&f->in, 1);

	if (f->in.bad || i >= f->m->rules.count || f->m->rules.rules[i].counts ||
	    f->m->rules.rules[i].in_kernel) {
		f->in.bad = true;
		return NULL;
	}
	*r = &f->m->rules.rules[i];
	return &f->m->states[i];
}

static void read_head(struct reading *f)
{
	struct map *m = f->m;

	md_unpack_number(&f->in, 1);
	f->in.bad |= md_unpack_number(&f->in, 8) != f->identity;
	m->since = (int64_t)md_unpack_number(&f->in, 8);
	m->cleared = md_unpack_number(&f->in, 8);
	m->clear_ts = md_unpack_number(&f->in, 8);
}

static void read_state(struct reading *f)
{
	const struct map_rule *r;
	struct map_state *st = state_of(f, &r);
	const uint8_t *reason;
	size_t len;

	if (!st)
		return;
	st->events = md_unpack_number(&f->in, 8);
	st->lost = md_unpack_number(&f->in, 8);
	st->missing = md_unpack_number(&f->in, 8);
	st->left_out = md_unpack_number(&f->in, 8);
	st->unpaired = md_unpack_number(&f->in, 8);
	reason = take_bytes(&f->in, &len);
	if (!reason || len >= sizeof(st->reason)) {
		f->in.bad = true;
		return;
	}
	memcpy(st->reason, reason, len);
	st->reason[len] = 0;
}

/* Sets a row of the table, which may be new. False: it cannot be that one. */
static bool set_row(struct reading *f, const struct map_rule *r, struct map_state *st,
		    const struct map_row *is, const uint8_t *slots, size_t size)
{
	struct map_row *row;
	struct map_key k = { .len = is->key_len, .hex = is->hex, .single = is->single };

	memcpy(k.bytes, is->key, is->key_len);
	row = map_get_row(f->m, r, st, &k);
	if (!row || row->index != is->index ||
	    (size_t)((const uint8_t *)map_row_slots(row, r, r->op_count) -
		     (const uint8_t *)row->slots) != size)
		return false;
	row->count = is->count;
	row->real = is->real;
	row->wide = is->wide;
	memcpy(row->slots, slots, size);
	return true;
}

static void read_row(struct reading *f)
{
	const struct map_rule *r;
	struct map_state *st = state_of(f, &r);
	struct map_row is = { 0 };
	const uint8_t *key, *slots;
	size_t len, size;

	if (!st)
		return;
	is.index = (uint32_t)md_unpack_number(&f->in, 4);
	is.hex = (uint8_t)md_unpack_number(&f->in, 1);
	is.single = (uint8_t)md_unpack_number(&f->in, 1);
	is.real = (uint8_t)md_unpack_number(&f->in, 1);
	is.wide = (uint8_t)md_unpack_number(&f->in, 1);
	is.count = md_unpack_number(&f->in, 8);
	key = take_bytes(&f->in, &len);
	slots = take_bytes(&f->in, &size);
	is.key = (uint8_t *)key;
	is.key_len = (uint32_t)len;
	if (f->in.bad || len > MAP_KEY_BYTES || !is_key(key, len, key_values(r)) ||
	    !set_row(f, r, st, &is, slots, size))
		f->in.bad = true;
}

/* The values of a first event from its bytes. NULL: they are not of this rule, or no memory. */
static struct map_first *copy_first(const struct map_rule *r, const uint8_t *bytes, size_t len)
{
	struct map_first *first;
	size_t count = 0;

	for (size_t i = 0; i < r->by_count; i++)
		count += r->by[i].first;
	if (!r->has_first || len < sizeof(*first) || !(first = malloc(len)))
		return NULL;
	memcpy(first, bytes, len);
	if (first->len == len - sizeof(*first) && first->len <= MAP_KEY_BYTES &&
	    is_key(first->bytes, first->len, count))
		return first;
	free(first);
	return NULL;
}

static void read_pair(struct reading *f)
{
	const struct map_rule *r;
	struct map_state *st = state_of(f, &r);
	struct pair_open key = { .trace = f->m };
	struct map_first *first = NULL;
	const uint8_t *bytes;
	enum map_side side;
	size_t len;

	if (!st)
		return;
	side = md_unpack_number(&f->in, 1) ? MAP_SIDE_LAST : MAP_SIDE_FIRST;
	key.a = md_unpack_number(&f->in, 8);
	key.b = md_unpack_number(&f->in, 8);
	key.ts = md_unpack_number(&f->in, 8);
	bytes = take_bytes(&f->in, &len);
	if (!f->in.bad && len && !(first = copy_first(r, bytes, len)))
		f->in.bad = true;
	if (f->in.bad || !r->pair)
		f->in.bad = true;
	else
		map_pair_repeat(f->m, r, st, side, &key, first);
}

static void read_pass(struct reading *f)
{
	struct pass p, *more = realloc(f->passes, (f->pass_count + 1) * sizeof(*more));

	md_unpack_number(&f->in, 1);
	p.region = md_unpack_number(&f->in, 8);
	p.ring = (uint32_t)md_unpack_number(&f->in, 4);
	p.head = md_unpack_number(&f->in, 8);
	p.ts = md_unpack_number(&f->in, 8);
	p.events = md_unpack_number(&f->in, 8);
	p.lost = md_unpack_number(&f->in, 8);
	if (!more) {
		f->in.bad = true;
		return;
	}
	f->passes = more;
	f->passes[f->pass_count++] = p;
}

static void read_record(struct reading *f)
{
	f->pass_count = 0;
	while (!f->in.bad && f->in.p < f->in.end)
		switch (md_unpack_number(&f->in, 1)) {
		case MAP_ENTRY_HEAD: read_head(f); break;
		case MAP_ENTRY_STATE: read_state(f); break;
		case MAP_ENTRY_ROW: read_row(f); break;
		case MAP_ENTRY_PAIR: read_pair(f); break;
		case MAP_ENTRY_PASS: read_pass(f); break;
		default: f->in.bad = true;
		}
}

/* Reads all whole records. False: the file is no journal of these rules. */
static bool read_records(struct reading *f, const struct md_buf *file)
{
	const uint8_t *p = (const uint8_t *)file->data, *end = p + file->len;
	size_t n = 0;

	for (; end - p >= 8; p += 8 + f->in.end - f->in.p, n++) {
		struct md_unpack head = { .p = p, .end = p + 8 };
		uint64_t magic = md_unpack_number(&head, 4), len = md_unpack_number(&head, 4);

		if (magic != MAP_JOURNAL_MAGIC)
			return false;
		if (len > (uint64_t)(end - p - 8))
			break;
		f->in = (struct md_unpack){ .p = p + 8, .end = p + 8 + len };
		read_record(f);
		if (f->in.bad)
			return false;
		f->in.p = p + 8;
	}
	return n > 0;
}

/* The earlier daemon may have been killed after it had written the record. */
static void repeat_passes(const struct reading *f)
{
	struct stream_set set;

	if (!f->pass_count || !f->m->hidden || session_rings(f->m->hidden, &set))
		return;
	for (size_t i = 0; i < set.count; i++)
		for (size_t n = 0; n < f->pass_count; n++) {
			const struct stream *s = &set.streams[i];
			const struct pass *p = &f->passes[n];
			struct trail_ring *ring;
			uint64_t lost = ring_cleared_lost(s);
			struct ring_mark mark = {
				.head = p->head, .last_ts = p->ts, .events = p->events,
				.lost = p->lost > lost ? p->lost - lost : 0,
			};

			if (s->region->key != p->region || s->ring != p->ring)
				continue;
			ring = region_ring(s->region, s->ring);
			if (__atomic_load_n(&ring->cleared, __ATOMIC_RELAXED) <= p->head)
				ring_pass(s, &mark);
		}
	stream_set_deinit(&set);
}

bool map_journal_read(struct map *m)
{
	struct reading f = { .m = m, .identity = map_journal_identity(m) };
	char name[MAP_JOURNAL_NAME_MAX];
	struct md_buf file = MD_BUF_INIT;
	bool good = true;

	if (!m->states || map_journal_dir(m))
		return true;
	map_journal_name(m, name, sizeof(name));
	if (state_file_read(m->journal.dir, name, FILE_MAX, &file))
		map_journal_drop(m);
	else if ((good = read_records(&f, &file)))
		repeat_passes(&f);
	md_buf_deinit(&file);
	free(f.passes);
	return good;
}
