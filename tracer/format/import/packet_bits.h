/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The value of an integer of a packet, from its bits. Private to packet.c. */
#ifndef TRACER_IMPORT_PACKET_BITS_H
#define TRACER_IMPORT_PACKET_BITS_H

#include <endian.h>
#include <string.h>

#include "tracer/format/import/layout.h"

/* `size` bits at any place: little endian from the lowest bit of a byte on, big endian reversed. */
static inline uint64_t read_bits(const uint8_t *p, unsigned int shift, unsigned int size, bool big)
{
	unsigned int n = (shift + size + 7) / 8, whole = n < 8 ? n : 8;
	unsigned int drop = big ? 8 * n - shift - size : shift;
	uint64_t v = 0;

	for (unsigned int i = 0; i < whole; i++)
		v |= (uint64_t)p[i] << 8 * (big ? whole - 1 - i : i);
	if (n <= 8)
		v >>= drop;
	else if (big)   /* drop < 8 */
		v = v << (8 - drop) | p[8] >> drop;
	else            /* shift > 0 */
		v = v >> drop | (uint64_t)p[8] << (64 - drop);
	return v & (size < 64 ? (UINT64_C(1) << size) - 1 : UINT64_MAX);
}

/* room: how many bits from p on can be read. */
static inline uint64_t read_int(const struct step *s, const uint8_t *p, unsigned int shift,
				uint64_t room)
{
	uint64_t v = 0;

	if (!s->big_endian && room >= 64 && shift + s->size <= 64) {
		/* Nearly all integers, also the packed ones of an event header: one load. */
		memcpy(&v, p, sizeof(v));
		v = le64toh(v) >> shift;
		if (s->size < 64)
			v &= (UINT64_C(1) << s->size) - 1;
	} else if (shift || (s->size & (s->size - 1)) || s->size < 8) {
		v = read_bits(p, shift, s->size, s->big_endian);
	} else {
		memcpy(&v, p, s->size / 8);
		v = s->big_endian ? be64toh(v) >> (64 - s->size) : le64toh(v);
	}
	if (s->is_signed)
		v = (uint64_t)((int64_t)(v << (64 - s->size)) >> (64 - s->size));
	return v;
}

/* The bits of v in the other order. */
static inline uint64_t reverse(uint64_t v, unsigned int size)
{
	uint64_t out = 0;

	for (unsigned int i = 0; i < size; i++)
		out |= (v >> i & 1) << (size - 1 - i);
	return out;
}

/* Not inline: only CTF 2 has these, and seldom. */
static __attribute__((cold, noinline, unused)) uint64_t change_int(const struct step *s,
								  uint64_t v)
{
	unsigned int unused = 64u - s->size;

	if (s->boolean)
		return v != 0;
	v = reverse(v, s->size);
	return s->is_signed ? (uint64_t)((int64_t)(v << unused) >> unused) : v;
}

#endif
