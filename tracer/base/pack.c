/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/base/pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	DEPTH_MAX = 16,
	STRING_MAX = 65534,             /* bytes, in logs */
};

/* ---- writing ---- */

void md_pack_number(struct md_buf *b, uint64_t n, int bytes)
{
	for (int i = 0; i < bytes; i++)
		md_buf_putc(b, (char)(n >> (8 * i)));
}

void md_pack_string(struct md_buf *b, const char *s, bool whole)
{
	size_t len = s ? strlen(s) : 0;

	if (len > STRING_MAX && !whole)
		len = STRING_MAX;
	/* Length + 1, so that NULL is not the empty string. */
	md_pack_number(b, s ? len + 1 : 0, whole ? 4 : 2);
	md_buf_put(b, s, len);
}

static void put_field(struct md_buf *b, const struct md_field *f, bool whole);

/* In logs, of the kind of a BLOB: its media type follows its element. */
enum { KIND_BLOB = 0x80 };

static void put_type(struct md_buf *b, const struct md_type *t, bool whole)
{
	bool blob = t->show == MD_SHOW_BLOB;

	md_pack_number(b, t->kind | (blob && !whole ? KIND_BLOB : 0u), 1);
	md_pack_number(b, t->size, 1);
	md_pack_number(b, t->is_signed, 1);
	md_pack_number(b, t->big_endian, 1);
	md_pack_number(b, t->base, 1);
	md_pack_number(b, t->encoding, 1);
	md_pack_number(b, t->length_size, 1);
	/* An integer has no count. */
	md_pack_number(b, t->bits ? t->bits | (uint64_t)t->shift << 8 : t->count, 4);
	if (whole) {
		md_pack_number(b, t->shown_bits, 1);
		md_pack_number(b, t->show, 1);
		md_pack_number(b, t->quiet | t->optional << 1, 1);
	}
	switch (t->kind) {
	case MD_ARRAY:
	case MD_SEQUENCE:
		put_type(b, t->element, whole);
		if (blob)
			md_pack_string(b, t->media_type, whole);
		break;
	case MD_ENUM:
		for (uint32_t i = 0; i < t->count; i++) {
			md_pack_string(b, t->mappings[i].name, whole);
			md_pack_number(b, (uint64_t)t->mappings[i].begin, 8);
			md_pack_number(b, (uint64_t)t->mappings[i].end, 8);
		}
		break;
	case MD_STRUCT:
	case MD_VARIANT:
		for (uint32_t i = 0; i < t->count; i++)
			put_field(b, &t->members[i], whole);
		break;
	}
}

static void put_field(struct md_buf *b, const struct md_field *f, bool whole)
{
	md_pack_string(b, f->name, whole);
	if (whole)
		md_pack_number(b, f->group | f->exact << 1 | f->omitted << 2, 1);
	put_type(b, &f->type, whole);
}

void md_pack_event(struct md_buf *b, const struct md_event *e, bool whole)
{
	md_pack_number(b, e->id, 4);
	md_pack_number(b, (uint64_t)(int64_t)e->loglevel, 4);
	md_pack_string(b, e->name, whole);
	md_pack_string(b, e->emf_uri, whole);
	if (whole) {
		md_pack_number(b, e->no_fields, 1);
		md_pack_number(b, e->empty_before, 1);
		md_pack_number(b, e->empty_after, 1);
	}
	md_pack_number(b, e->field_count, 4);
	for (uint32_t i = 0; i < e->field_count; i++)
		put_field(b, &e->fields[i], whole);
}

static void put_stream(struct md_buf *b, const struct md_stream *s)
{
	md_pack_number(b, s->id, 4);
	md_pack_number(b, s->header, 1);
	md_pack_number(b, s->no_cpu | s->cpu_in_context << 1 | s->no_time << 2 |
			  s->empty_before << 3 | s->ctf1 << 4, 1);
	md_pack_number(b, s->context_count, 4);
	for (uint32_t i = 0; i < s->context_count; i++)
		put_field(b, &s->context[i], true);
	md_pack_number(b, s->event_count, 4);
	for (uint32_t id = 0; id <= MD_EVENT_ID_MAX; id++) {
		const struct md_event *e = s->chunks[id >> 8] ? s->chunks[id >> 8][id & 255] : NULL;

		if (e)
			md_pack_event(b, e, true);
	}
}

void md_pack_trace(struct md_buf *b, const struct md_trace *t)
{
	md_buf_put(b, t->uuid, sizeof(t->uuid));
	md_buf_put(b, t->clock_uuid, sizeof(t->clock_uuid));
	md_pack_number(b, t->clock_offset, 8);
	md_pack_number(b, t->clock_is_tai | t->is_ctf2 << 1 | t->in_packets << 2, 1);
	md_pack_number(b, t->env_count, 4);
	for (uint32_t i = 0; i < t->env_count; i++) {
		md_pack_string(b, t->env[i].name, true);
		md_pack_string(b, t->env[i].value, true);
		md_pack_number(b, (uint64_t)t->env[i].number, 8);
	}
	md_pack_number(b, t->stream_count, 4);
	for (uint32_t i = 0; i < t->stream_count; i++)
		put_stream(b, t->streams[i]);
}

/* ---- reading ---- */

uint64_t md_unpack_number(struct md_unpack *in, int bytes)
{
	uint64_t n = 0;

	if (in->bad || in->end - in->p < bytes) {
		in->bad = true;
		in->p = in->end;
		return 0;
	}
	for (int i = 0; i < bytes; i++)
		n |= (uint64_t)in->p[i] << (8 * i);
	in->p += bytes;
	return n;
}

/* False: more would be allocated than may be. */
static bool take_room(struct md_unpack *in, size_t n)
{
	in->bad |= n > in->room;
	if (in->bad)
		return false;
	in->room -= n;
	return true;
}

char *md_unpack_string(struct md_unpack *in)
{
	size_t len = md_unpack_number(in, in->whole ? 4 : 2);
	char *s;

	if (!len)
		return NULL;
	len--;
	if ((size_t)(in->end - in->p) < len || memchr(in->p, '\0', len)) {
		in->bad = true;
		return NULL;
	}
	if (!take_room(in, len + 1))
		return NULL;
	s = strndup((const char *)in->p, len);
	in->no_memory |= !s;
	in->p += len;
	return s;
}

/*
 * Each of the `count` elements that follow takes at least `bytes`. So the input bounds the memory
 * that a count can request.
 */
static void *get_array(struct md_unpack *in, uint32_t count, size_t bytes, size_t size)
{
	void *p;

	if ((size_t)(in->end - in->p) / bytes < count) {
		in->bad = true;
		return NULL;
	}
	if (!take_room(in, ((size_t)count + 1) * size))
		return NULL;
	p = calloc((size_t)count + 1, size);
	in->no_memory |= !p;
	return p;
}

/* The least bytes of each, in the form of logs. */
enum { TYPE_BYTES = 11, FIELD_BYTES = 2 + TYPE_BYTES, MAPPING_BYTES = 18 };

static void get_field(struct md_unpack *in, struct md_field *f, int depth);

static void get_mappings(struct md_unpack *in, struct md_type *t, uint32_t count)
{
	t->mappings = get_array(in, count, MAPPING_BYTES, sizeof(*t->mappings));
	if (!t->mappings)
		return;
	for (t->count = 0; t->count < count; t->count++) {
		struct md_mapping *m = &t->mappings[t->count];

		m->name = md_unpack_string(in);
		in->bad |= !m->name;
		m->begin = (int64_t)md_unpack_number(in, 8);
		m->end = (int64_t)md_unpack_number(in, 8);
	}
}

static void get_members(struct md_unpack *in, struct md_type *t, uint32_t count, int depth)
{
	t->members = get_array(in, count, FIELD_BYTES, sizeof(*t->members));
	if (!t->members)
		return;
	for (t->count = 0; t->count < count && !in->bad; t->count++)
		get_field(in, &t->members[t->count], depth + 1);
}

static void get_scalars(struct md_unpack *in, struct md_type *t, uint32_t *count)
{
	unsigned int flags;
	bool blob;

	t->kind = (uint8_t)md_unpack_number(in, 1);
	blob = !in->whole && t->kind & KIND_BLOB;
	t->kind = blob ? t->kind & ~KIND_BLOB : t->kind;
	t->show = blob ? MD_SHOW_BLOB : MD_SHOW_PLAIN;
	t->size = (uint8_t)md_unpack_number(in, 1);
	t->is_signed = md_unpack_number(in, 1) != 0;
	t->big_endian = md_unpack_number(in, 1) != 0;
	t->base = (uint8_t)md_unpack_number(in, 1);
	t->encoding = (uint8_t)md_unpack_number(in, 1);
	t->length_size = (uint8_t)md_unpack_number(in, 1);
	*count = (uint32_t)md_unpack_number(in, 4);
	if (!in->whole)
		return;
	t->shown_bits = (uint8_t)md_unpack_number(in, 1);
	t->show = (uint8_t)md_unpack_number(in, 1);
	flags = (unsigned int)md_unpack_number(in, 1);
	t->quiet = flags & 1;
	t->optional = flags & 2;
}

static void get_type(struct md_unpack *in, struct md_type *t, int depth)
{
	uint32_t count;

	get_scalars(in, t, &count);
	in->bad |= depth > DEPTH_MAX;
	if (in->bad)
		return;
	switch (t->kind) {
	case MD_INT:
		t->bits = (uint8_t)count;
		t->shift = (uint8_t)(count >> 8);
		break;
	case MD_FLOAT: case MD_STRING:
		break;
	case MD_ARRAY: case MD_SEQUENCE:
		t->count = count;
		t->element = get_array(in, 1, TYPE_BYTES, sizeof(*t->element));
		if (t->element)
			get_type(in, t->element, depth + 1);
		if (t->show == MD_SHOW_BLOB)
			t->media_type = md_unpack_string(in);
		break;
	case MD_ENUM:
		get_mappings(in, t, count);
		break;
	case MD_STRUCT: case MD_VARIANT:
		get_members(in, t, count, depth);
		break;
	default:
		in->bad = true;
	}
}

static void get_field(struct md_unpack *in, struct md_field *f, int depth)
{
	unsigned int flags;

	f->name = md_unpack_string(in);
	in->bad |= !f->name;
	if (in->whole) {
		flags = (unsigned int)md_unpack_number(in, 1);
		f->group = flags & 1;
		f->exact = flags & 2;
		f->omitted = (uint8_t)(flags >> 2);
		in->bad |= f->name && strlen(f->name) < f->omitted;
	}
	get_type(in, &f->type, depth);
}

static void get_event_flags(struct md_unpack *in, struct md_event *e)
{
	e->no_fields = md_unpack_number(in, 1) != 0;
	e->empty_before = (uint8_t)md_unpack_number(in, 1);
	e->empty_after = (uint8_t)md_unpack_number(in, 1);
}

struct md_event *md_unpack_event(struct md_unpack *in)
{
	struct md_event *e = NULL, flags = { 0 };
	uint32_t id = (uint32_t)md_unpack_number(in, 4), count;
	int level = (int32_t)(uint32_t)md_unpack_number(in, 4);
	char *name = md_unpack_string(in), *uri = md_unpack_string(in);

	if (in->whole)
		get_event_flags(in, &flags);
	count = (uint32_t)md_unpack_number(in, 4);
	in->bad |= !name || id > MD_EVENT_ID_MAX || (size_t)(in->end - in->p) / FIELD_BYTES < count;
	if (!in->bad && take_room(in, sizeof(*e) + ((size_t)count + 1) * sizeof(*e->fields))) {
		e = md_event_create(name, level, count);
		in->no_memory |= !e;
	}
	free(name);
	if (!e) {
		free(uri);
		return NULL;
	}
	e->id = id;
	e->emf_uri = uri;
	e->no_fields = flags.no_fields;
	e->empty_before = flags.empty_before;
	e->empty_after = flags.empty_after;
	for (uint32_t i = 0; i < count && !in->bad; i++)
		get_field(in, &e->fields[i], 0);
	if (in->bad || in->no_memory) {
		md_event_destroy(e);
		return NULL;
	}
	return e;
}

static void get_bytes(struct md_unpack *in, uint8_t *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (uint8_t)md_unpack_number(in, 1);
}

/* Notes what md_stream_add and others returned. */
static void note_result(struct md_unpack *in, int ret)
{
	if (ret == -ENOMEM)
		in->no_memory = true;
	else if (ret)
		in->bad = true;
}

static void get_contexts(struct md_unpack *in, struct md_stream *s)
{
	struct md_type all = { .kind = MD_STRUCT };
	uint32_t count = (uint32_t)md_unpack_number(in, 4);
	int ret;

	if (in->bad || !count)
		return;
	get_members(in, &all, count, -1);
	ret = in->bad || in->no_memory ? -EINVAL
				       : md_stream_set_context(s, all.members, all.count);
	if (!ret)
		return;
	if (!in->no_memory)
		note_result(in, ret);
	md_type_deinit(&all);
}

static void get_stream(struct md_unpack *in, struct md_trace *t)
{
	uint32_t id = (uint32_t)md_unpack_number(in, 4);
	unsigned int header = (unsigned int)md_unpack_number(in, 1);
	unsigned int flags = (unsigned int)md_unpack_number(in, 1);
	struct md_stream *s;

	in->bad |= header > MD_HEADER_LARGE;
	if (!take_room(in, sizeof(*s)))
		return;
	s = md_stream_create(id, header ? MD_HEADER_LARGE : MD_HEADER_COMPACT);
	note_result(in, s ? md_trace_add(t, s) : -ENOMEM);
	if (in->bad || in->no_memory) {
		md_stream_destroy(s);
		return;
	}
	s->no_cpu = flags & 1;
	s->cpu_in_context = flags & 2;
	s->no_time = flags & 4;
	s->ctf1 = flags & 16;
	s->empty_before = flags & 8;
	get_contexts(in, s);
	for (uint32_t n = (uint32_t)md_unpack_number(in, 4); n && !in->bad && !in->no_memory; n--) {
		struct md_event *e = md_unpack_event(in);
		int ret = e ? md_stream_add(s, e) : 0;

		note_result(in, ret);
		if (ret)
			md_event_destroy(e);
	}
}

static void get_env(struct md_unpack *in, struct md_trace *t)
{
	char *name = md_unpack_string(in), *value = md_unpack_string(in);
	int64_t number = (int64_t)md_unpack_number(in, 8);

	in->bad |= !name;
	if (!in->bad && !in->no_memory)
		note_result(in, md_trace_env(t, name, value, number));
	free(name);
	free(value);
}

struct md_trace *md_unpack_trace(struct md_unpack *in)
{
	uint8_t uuid[16];
	struct md_trace *t;
	unsigned int flags;

	get_bytes(in, uuid, sizeof(uuid));
	t = md_trace_create(uuid);
	if (!t) {
		in->no_memory = true;
		return NULL;
	}
	get_bytes(in, t->clock_uuid, sizeof(t->clock_uuid));
	t->clock_offset = md_unpack_number(in, 8);
	flags = (unsigned int)md_unpack_number(in, 1);
	t->clock_is_tai = flags & 1;
	t->is_ctf2 = flags & 2;
	t->in_packets = flags & 4;
	for (uint32_t n = (uint32_t)md_unpack_number(in, 4); n && !in->bad && !in->no_memory; n--)
		get_env(in, t);
	for (uint32_t n = (uint32_t)md_unpack_number(in, 4); n && !in->bad && !in->no_memory; n--)
		get_stream(in, t);
	if (in->bad || in->no_memory) {
		md_trace_destroy(t);
		return NULL;
	}
	return t;
}
