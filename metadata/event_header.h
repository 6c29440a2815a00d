/* SPDX-License-Identifier: MIT */
/* The header of an event: its id and its time. Private to metadata/. */
#ifndef METADATA_EVENT_HEADER_H
#define METADATA_EVENT_HEADER_H

#include "metadata/model.h"
#include "metadata/number.h"

/* The first value not below last whose low bits are stamp. */
static inline uint64_t extend(uint64_t last, uint32_t stamp, unsigned int bits)
{
	uint64_t mask = (UINT64_C(1) << bits) - 1;

	return last + ((stamp - last) & mask);
}

struct event_header {
	uint32_t id;
	uint64_t ts;            /* ns, or cycles of the stream class' clock; unwrapped */
};

/* The long id and the whole time, after `at` bytes of short id. */
static inline const uint8_t *read_extended(const uint8_t *p, const uint8_t *end, unsigned int at,
					   struct event_header *h)
{
	if ((size_t)(end - p) < at + 12)
		return NULL;
	h->id = md_load32(p + at);
	h->ts = md_load64(p + at + 4);
	return p + at + 12;
}

/*
 * Both return NULL if the header extends beyond `end`. The bytes may change meanwhile: each is read
 * once.
 */
static inline const uint8_t *read_compact(const uint8_t *p, const uint8_t *end, uint64_t last,
					  struct event_header *h)
{
	uint32_t word;

	if (end - p < 4)
		return NULL;    /* the other forms are longer still */
	word = md_load32(p);
	/* The id is in the first 5 bits, on big-endian hosts the highest ones. */
	h->id = MD_HOST_IS_BIG ? word >> 27 : word & 31;
	h->ts = extend(last, MD_HOST_IS_BIG ? word & 0x7ffffff : word >> 5, 27);
	if (h->id < 30)
		return p + 4;
	if (__builtin_expect(h->id == 31, 0))
		return read_extended(p, end, 1, h);
	if (end - p < 6)
		return NULL;
	h->id = md_load16(p + 4);
	return p + 6;
}

static inline const uint8_t *read_large(const uint8_t *p, const uint8_t *end, uint64_t last,
					struct event_header *h)
{
	if (end - p < 6)
		return NULL;
	h->id = md_load16(p);
	if (__builtin_expect(h->id == 65535, 0))
		return read_extended(p, end, 2, h);
	h->ts = extend(last, md_load32(p + 2), 32);
	return p + 6;
}

/* Returns the place after the header, or NULL if it extends beyond `end`. last: as in decode.h. */
static inline const uint8_t *read_event_header(const struct md_stream *s, const uint8_t *p,
					       const uint8_t *end, uint64_t last,
					       struct event_header *h)
{
	return s->header == MD_HEADER_COMPACT ? read_compact(p, end, last, h)
					      : read_large(p, end, last, h);
}

#endif
