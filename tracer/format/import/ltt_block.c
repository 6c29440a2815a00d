/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks. Headers and data of events are aligned to the trace's alignment, from the beginning of
 * the block on; values in the data to their size, at most the facility's alignment, from the
 * beginning of the data on. Stamps of 32 bits continue from the begin_cycle_count of the block.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/number.h"
#include "tracer/abi/wide.h"
#include "tracer/format/import/ltt_private.h"

#define EVENT_MAX (UINT64_C(64) << 20)  /* bytes of an event, here and as it is returned */
#define VALUES_MAX (UINT64_C(1) << 20)  /* of an event: members of unions repeat bytes */
#define PIECE 65536u
#define UNKNOWN_SIZE 0xffffu
#define CORE 0

enum { SHORT = 1, BAD = 2, NOMEM = 3 };         /* of functions that decode */
enum { LOAD, UNLOAD, HEARTBEAT, STATE_LOAD, CORE_EVENTS };

/* The bytes [from, to) of a block. */
struct window {
	const struct ltt_block *b;
	const uint8_t *data;
	uint64_t from, to;
};

struct event {
	uint64_t cycles;
	uint8_t facility, id;
	uint32_t size;          /* of the data; UNKNOWN_SIZE */
	uint64_t data;          /* place in the block */
	const char *why;        /* with BAD */
};

struct convert {
	const struct ltt_sizes *sizes;
	const uint8_t *base, *p, *end;
	struct md_buf *out;     /* NULL: the values are only skipped */
	uint64_t values;
};

/* ns since the epoch. False: before it, or after 63 bits. */
static bool set_ns(const struct ltt_block *b, uint64_t cycles, uint64_t *ns)
{
	bool before = cycles < b->start;
	/* 30 and 32 bits: the product fits. */
	uint64_t diff = multiply_divide(before ? b->start - cycles : cycles - b->start,
					1000000000 * (uint64_t)b->scale, b->freq);

	*ns = before ? b->start_ns - diff : b->start_ns + diff;
	return (before ? diff <= b->start_ns : diff <= UINT64_MAX - b->start_ns) &&
	       *ns <= INT64_MAX;
}

/* ---- events ---- */

static uint64_t round_up(uint64_t n, uint64_t align)
{
	return (n + align - 1) & ~(align - 1);
}

/* Reads the header at `at`. cycles: of the event before. 0, SHORT or BAD. */
static int read_header(const struct window *w, uint64_t at, uint64_t cycles, struct event *e)
{
	const struct ltt_block *b = w->b;
	const uint8_t *p;
	uint64_t n = b->heartbeat ? 8 : 12, low;

	at = round_up(at, b->align);
	e->data = round_up(at + n, b->align);
	if (at + n > w->to)
		return SHORT;
	p = w->data + (at - w->from);
	if (b->heartbeat) {
		low = md_load(p, 4, b->big_endian);
		e->cycles = (cycles & ~(uint64_t)UINT32_MAX) + low;
		if (e->cycles < cycles && __builtin_add_overflow(e->cycles, UINT64_C(1) << 32,
								 &e->cycles))
			e->cycles = 0;
	} else {
		e->cycles = md_load(p, 8, b->big_endian);
	}
	p += n - 4;
	e->facility = p[0];
	e->id = p[1];
	e->size = (uint32_t)md_load(p + 2, 2, b->big_endian);
	e->why = "an event is earlier than the event before it";
	return e->cycles < cycles ? BAD : 0;
}

/* How a value of this type is aligned. */
static uint64_t align_of(const struct ltt_sizes *s, const struct md_type *t)
{
	uint64_t most = 1, n;

	switch (t->kind) {
	case MD_STRING: return 1;
	case MD_ARRAY: return align_of(s, t->element);
	case MD_SEQUENCE: return t->length_size < s->align ? t->length_size : s->align;
	case MD_STRUCT:
		for (uint32_t i = 0; i < t->count; i++) {
			n = align_of(s, &t->members[i].type);
			most = n > most ? n : most;
		}
		return most;
	default: return t->size < s->align ? t->size : s->align;
	}
}

static int skip_padding(struct convert *c, const struct md_type *t)
{
	uint64_t n;

	if (c->sizes->align < 2)
		return 0;
	n = round_up((uint64_t)(c->p - c->base), align_of(c->sizes, t));
	if (n > (uint64_t)(c->end - c->base))
		return SHORT;
	c->p = c->base + n;
	return 0;
}

static int put_bytes(struct convert *c, uint64_t n)
{
	if (n > (uint64_t)(c->end - c->p))
		return SHORT;
	if (c->out)
		md_buf_put(c->out, c->p, n);
	c->p += n;
	return 0;
}

/* Numbers in the order that their type stands for in the model. */
static int put_numbers(struct convert *c, const struct md_type *t, uint64_t n)
{
	if (!MD_HOST_IS_BIG || t->big_endian || t->size == 1 || !c->out)
		return put_bytes(c, n * t->size);
	if (n * t->size > (uint64_t)(c->end - c->p))
		return SHORT;
	for (; n; n--, c->p += t->size)
		for (uint32_t i = t->size; i; i--)
			md_buf_put(c->out, c->p + i - 1, 1);
	return 0;
}

static int put_value(struct convert *c, const struct md_type *t);

static int put_elements(struct convert *c, const struct md_type *t, uint64_t n)
{
	int ret = 0;

	if (t->kind == MD_INT || t->kind == MD_FLOAT || t->kind == MD_ENUM) {
		ret = n ? skip_padding(c, t) : 0;
		return ret ? ret : put_numbers(c, t, n);
	}
	/* An element has at least a byte, so the bytes bound the loop. */
	while (n-- && !ret)
		ret = put_value(c, t);
	return ret;
}

static int put_sequence(struct convert *c, const struct md_type *t)
{
	uint64_t n;

	if (t->length_size > c->end - c->p)
		return SHORT;
	n = md_load(c->p, t->length_size, t->big_endian);
	if (n > EVENT_MAX)
		return BAD;
	c->p += t->length_size;
	if (c->out)
		md_buf_put(c->out, (uint8_t *)&n + md_low_bytes(sizeof(n), t->length_size),
			   t->length_size);
	return put_elements(c, t->element, n);
}

static int put_members(struct convert *c, const struct md_type *t)
{
	const uint8_t *begin = c->p, *end = c->p;
	int ret = 0;

	for (uint32_t i = 0; i < t->count && !ret; i++) {
		if (t->length_size == LTT_UNION)
			c->p = begin;
		ret = put_value(c, &t->members[i].type);
		end = c->p > end ? c->p : end;
	}
	c->p = end;
	return ret ? ret : skip_padding(c, t);
}

static int put_value(struct convert *c, const struct md_type *t)
{
	const uint8_t *nul;
	int ret = skip_padding(c, t);

	if (ret)
		return ret;
	if (++c->values > VALUES_MAX || (c->out && c->out->len > EVENT_MAX))
		return BAD;
	switch (t->kind) {
	case MD_STRING:
		nul = memchr(c->p, 0, (size_t)(c->end - c->p));
		return nul ? put_bytes(c, (uint64_t)(nul + 1 - c->p)) : SHORT;
	case MD_ARRAY: return put_elements(c, t->element, t->count);
	case MD_SEQUENCE: return put_sequence(c, t);
	case MD_STRUCT: return put_members(c, t);
	default: return put_numbers(c, t, 1);
	}
}

/*
 * The data of an event of the facility core, whose sizes are those of this reader's definition.
 * name, values: of a load. Sets e->size, and the cycles of a heartbeat.
 */
static int read_core(const struct window *w, struct event *e, const char **name, uint32_t *values)
{
	bool big = w->b->big_endian, load = e->id == LOAD || e->id == STATE_LOAD;
	uint64_t at = e->data, full;
	const uint8_t *nul;

	e->why = "the facility core has no event with the id of this one";
	if (e->id >= CORE_EVENTS)
		return BAD;
	if (load) {
		nul = at < w->to ? memchr(w->data + (at - w->from), 0, w->to - at) : NULL;
		if (!nul)
			return SHORT;
		*name = (const char *)w->data + (at - w->from);
		at = round_up((uint64_t)(nul + 1 - w->data) + w->from - e->data,
			      w->b->align < 4 ? w->b->align : 4) + e->data;
	}
	full = at + (load ? 28 : e->id == UNLOAD ? 4 : 8);
	if (full > w->to)
		return SHORT;
	for (int i = 0; load && i < 7; i++)
		values[i] = (uint32_t)md_load(w->data + (at - w->from) + 4 * i, 4, big);
	if (e->id == HEARTBEAT) {
		full = md_load(w->data + (at - w->from), 8, big);
		/* The stamp may have overflowed several times since the event before. */
		if (w->b->heartbeat && full >= e->cycles && (uint32_t)full == (uint32_t)e->cycles)
			e->cycles = full;
		full = at + 8;
	}
	e->size = (uint32_t)(full - e->data);
	return 0;
}

/* The facility that the event's id stands for at its time. NULL: none. */
static uint32_t facility_of(const struct ltt_trace *t, const struct event *e)
{
	uint32_t found = 0;

	for (size_t i = 0; i < t->load_count; i++) {
		if (t->loads[i].id != e->facility)
			continue;
		/* A flight recorder may have overwritten the load: then the next one has it. */
		if (found && t->loads[i].cycles > e->cycles)
			break;
		found = t->loads[i].facility;
	}
	return found;
}

/* Appends the event if it is of this class. 0, SHORT, BAD or NOMEM. *next: the place after it. */
static int read_event(const struct ltt_trace *t, const struct ltt_stream *s,
		      const struct window *w, struct event *e, struct md_buf *out, uint64_t *next)
{
	uint32_t facility = facility_of(t, e), values[7];
	const struct ltt_facility *f = t->facilities[facility];
	uint64_t end = w->to, ns;
	const char *name;
	struct convert c;
	int ret;

	if (e->facility == CORE) {
		ret = read_core(w, e, &name, values);
		*next = e->data + e->size;
		return ret;
	}
	e->why = "no facility was loaded with the id of this event, or it has no such event";
	if (!f || e->id >= f->count)
		return BAD;
	e->why = "the definition of the event does not fit to its size";
	if (e->size != UNKNOWN_SIZE)
		end = e->data + e->size;
	if (e->data > w->to || end > w->to)
		return SHORT;
	c = (struct convert){ .sizes = &f->sizes, .base = w->data + (e->data - w->from),
			      .end = w->data + (end - w->from) };
	c.p = c.base;
	if (f->events[e->id].class == s->number) {
		struct __attribute__((packed)) {
			uint16_t extended;
			uint32_t id;
			uint64_t ns;
		} header = { 65535, facility * LTT_IDS + e->id, 0 };

		if (!set_ns(w->b, e->cycles, &ns)) {
			e->why = "the time of the event is before 1970 or after 2262";
			return BAD;
		}
		header.ns = ns;
		md_buf_put(out, &header, sizeof(header));
		c.out = out;
	}
	ret = 0;
	for (uint32_t i = 0; i < f->events[e->id].contexts && !ret; i++)
		ret = put_value(&c, &t->classes[f->events[e->id].class]->context[i].type);
	for (uint32_t i = 0; i < f->events[e->id].e->field_count && !ret; i++)
		ret = put_value(&c, &f->events[e->id].e->fields[i].type);
	*next = e->size != UNKNOWN_SIZE ? end : (uint64_t)(c.p - c.base) + e->data;
	if (out->failed)
		return NOMEM;
	return ret == SHORT && e->size != UNKNOWN_SIZE ? BAD : ret;
}

/*
 * Events of a window, until `out` has `most` bytes. As read_event, for the first that is not read.
 */
static int read_events(const struct ltt_trace *t, const struct ltt_stream *s,
		       const struct window *w, struct ltt_place *at, size_t most,
		       struct md_buf *out, struct event *e)
{
	uint64_t next = at->within;
	int ret = 0;

	while (!ret && out->len < most && round_up(at->within, w->b->align) < w->b->end) {
		size_t before = out->len;

		ret = read_header(w, at->within, at->cycles, e);
		if (!ret)
			ret = read_event(t, s, w, e, out, &next);
		if (ret) {
			out->len = out->failed ? out->len : before;
			break;
		}
		at->within = next;
		at->cycles = e->cycles;
	}
	return ret;
}

/*
 * Calls read() with windows of the block that begin at at->within, until it moves `at`. *n: bytes
 * of the first window. 0 or -errno.
 */
static int read_block(const struct ltt_trace *t, const struct ltt_stream *s,
		      const struct ltt_block *b, struct ltt_place *at, size_t most,
		      struct md_buf *out, struct tr_err *err)
{
	uint64_t n = PIECE, before = at->within;
	struct event e = { 0 };
	int ret = SHORT;

	while (ret == SHORT && at->within == before) {
		uint64_t size = b->end - at->within < n ? b->end - at->within : n;
		uint8_t *data = malloc(size + 1);
		struct window w = { b, data, at->within, at->within + size };

		if (!data)
			return tr_fail(err, -ENOMEM, "out of memory");
		ret = ltt_pread(s->file, b->offset + w.from, data, size, err);
		if (!ret)
			ret = read_events(t, s, &w, at, most, out, &e);
		free(data);
		if (ret == SHORT && at->within == before && (w.to == b->end || n > EVENT_MAX)) {
			e.why = "expected the whole event in the block";
			if (b->torn)
				at->within = b->end;
			ret = b->torn ? 0 : BAD;
		}
		n *= 4;
	}
	if (ret == NOMEM)
		return tr_fail(err, -ENOMEM, "out of memory");
	/* What was read before the mistake is returned first. */
	if (ret == BAD && at->within == before)
		return ltt_fail(err, s->file, b->offset + at->within, "%s", e.why);
	return ret < 0 ? ret : 0;
}

/*
 * The block at this place, with the clock of the file's first block: the frequency that a later
 * one has may differ a little, and times must not decrease. As ltt_block.
 */
static int find_block(const struct ltt_file *f, uint64_t offset, struct ltt_block *b,
		      struct tr_err *err)
{
	struct ltt_block first;
	int ret = ltt_block(f, 0, &first, err);

	if (ret > 0)
		ret = ltt_block(f, offset, b, err);
	if (ret > 0) {
		b->freq = first.freq;
		b->scale = first.scale;
		b->start = first.start;
		b->start_ns = first.start_ns;
	}
	return ret;
}

int ltt_read(const struct ltt_trace *t, const struct ltt_stream *s, struct ltt_place *at,
	     size_t want, struct md_buf *out, struct tr_err *err)
{
	size_t before = out->len;
	struct ltt_block b;
	int ret;

	while (out->len == before) {
		ret = find_block(s->file, at->block, &b, err);
		if (ret < 1)
			return ret;
		if (!at->within) {
			if (b.begin < at->cycles)
				return ltt_fail(err, s->file, b.offset,
						"the block begins before the end of the last one");
			at->within = b.first;
			at->cycles = b.begin;
		}
		if (round_up(at->within, b.align) < b.end)
			ret = read_block(t, s, &b, at, before + want, out, err);
		if (ret < 0)
			return ret;
		if (round_up(at->within, b.align) >= b.end) {
			at->block += b.size;
			at->within = 0;
		}
	}
	return 1;
}

int ltt_read_loads(const struct ltt_file *f,
		   int (*add)(void *arg, uint64_t cycles, const char *name, const uint32_t *values,
			      struct tr_err *err),
		   void *arg, struct tr_err *err)
{
	struct ltt_block b;
	uint64_t offset = 0;
	int ret;

	while ((ret = ltt_block(f, offset, &b, err)) > 0) {
		uint64_t at = b.first, cycles = b.begin;
		uint8_t *data = b.end <= EVENT_MAX ? malloc(b.end + 1) : NULL;
		struct window w = { &b, data, 0, b.end };
		struct event e = { 0 };
		uint32_t values[7];
		const char *name;

		if (!data)
			return tr_fail(err, -ENOMEM, "%s: a block is too large", f->path);
		ret = ltt_pread(f, offset, data, b.end, err);
		while (!ret && round_up(at, b.align) < b.end) {
			ret = read_header(&w, at, cycles, &e);
			if (!ret && e.facility != CORE && (ret = BAD))
				e.why = "expected an event of the facility core";
			if (!ret)
				ret = read_core(&w, &e, &name, values);
			if (!ret && (e.id == LOAD || e.id == STATE_LOAD))
				ret = add(arg, e.cycles, name, values, err);
			at = ret ? at : e.data + e.size;
			cycles = e.cycles;
		}
		free(data);
		if (ret == BAD || (ret == SHORT && !b.torn))
			ret = ltt_fail(err, f, offset + at, "%s", ret == BAD ? e.why :
				       "expected the whole event in the block");
		if (ret < 0)
			return ret;
		offset += b.size;
	}
	return ret;
}
