/* SPDX-License-Identifier: MIT */
/*
 * A digest of an event's layout: FNV-1a over an encoding in which each string ends with its NUL and
 * each list begins with its length, so that different layouts have different encodings. Digests are
 * stored on disk: do not change the encoding.
 */
#include "metadata/model.h"

static uint64_t byte(uint64_t h, uint8_t b)
{
	return (h ^ b) * 0x100000001b3u;
}

static uint64_t number(uint64_t h, uint64_t n)
{
	int i;

	for (i = 0; i < 8; i++)
		h = byte(h, (uint8_t)(n >> 8 * i));
	return h;
}

static uint64_t string(uint64_t h, const char *s)
{
	if (!s)
		return byte(byte(h, 1), 0);
	for (; *s; s++)
		h = byte(h, (uint8_t)*s);
	return byte(h, 0);
}

static uint64_t fields(uint64_t h, const struct md_field *f, uint32_t count);

static uint64_t type(uint64_t h, const struct md_type *t)
{
	uint32_t i;

	h = byte(h, t->kind);
	/* Only of these, so that other events keep their digests */
	if (t->show)
		h = byte(h, t->show);
	if (t->media_type)
		h = string(h, t->media_type);
	switch (t->kind) {
	case MD_INT:
	case MD_ENUM:
		h = byte(h, t->bits ? 0xff : t->size);
		h = byte(h, t->is_signed);
		h = byte(h, t->big_endian);
		h = byte(h, t->base);
		h = byte(h, t->encoding);
		/* Only of bit fields, so that other events keep their digests */
		if (t->bits)
			h = byte(byte(h, t->bits), t->shift);
		if (t->kind == MD_INT)
			return h;
		h = number(h, t->count);
		for (i = 0; i < t->count; i++) {
			h = string(h, t->mappings[i].name);
			h = number(h, (uint64_t)t->mappings[i].begin);
			h = number(h, (uint64_t)t->mappings[i].end);
		}
		return h;
	case MD_FLOAT:
		h = byte(h, t->size);
		return byte(h, t->big_endian);
	case MD_ARRAY:
		h = number(h, t->count);
		return t->element ? type(h, t->element) : h;
	case MD_SEQUENCE:
		h = byte(h, t->length_size);
		return t->element ? type(h, t->element) : h;
	case MD_STRUCT:
	case MD_VARIANT:
		return fields(h, t->members, t->count);
	default:
		return h;
	}
}

static uint64_t fields(uint64_t h, const struct md_field *f, uint32_t count)
{
	uint32_t i;

	h = number(h, count);
	for (i = 0; i < count; i++) {
		h = string(h, f[i].name);
		h = type(h, &f[i].type);
	}
	return h;
}

uint64_t md_event_digest(const struct md_event *e)
{
	uint64_t h = 0xcbf29ce484222325u;

	h = string(h, e->name);
	h = number(h, (uint64_t)(int64_t)e->loglevel);
	h = fields(h, e->fields, e->field_count);
	/*
	 * Only if there is a URI, so that events without one keep the digests of versions without
	 * URIs.
	 */
	return e->emf_uri ? string(h, e->emf_uri) : h;
}
