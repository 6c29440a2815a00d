/* SPDX-License-Identifier: MIT */
/*
 * The digest of a registration file's tables (tracer/abi/app.h): 64 bits, eight bytes at a time, a
 * few microseconds for 5,000 tracepoints. The library writes it, so that a daemon that knows the
 * tables need not read them. It tells apart tables that differ by accident; it does not resist
 * chosen collisions. Its values are a part of the interface: they must never change. Any thread;
 * async-signal-safe.
 */
#ifndef TRACER_ABI_TABLE_DIGEST_H
#define TRACER_ABI_TABLE_DIGEST_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TRAIL_DIGEST_LANES 4

static inline uint64_t trail_digest_step(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	/* A product carries upwards only: the rotation brings its high bits down. */
	return h << 29 | h >> 35;
}

/* Never 0. */
static inline uint64_t trail_table_digest(const void *tables, size_t size)
{
	uint64_t lanes[TRAIL_DIGEST_LANES] = { 1, 2, 3, 4 }, piece[TRAIL_DIGEST_LANES], h = size;
	const unsigned char *p = tables;

	while (size) {
		size_t n = size < sizeof(piece) ? size : sizeof(piece);

		if (n < sizeof(piece))
			memset(piece, 0, sizeof(piece));
		memcpy(piece, p, n);
		for (int i = 0; i < TRAIL_DIGEST_LANES; i++)
			lanes[i] = trail_digest_step(lanes[i], piece[i]);
		p += n;
		size -= n;
	}
	for (int i = 0; i < TRAIL_DIGEST_LANES; i++)
		h = trail_digest_step(trail_digest_step(h, lanes[i]), lanes[i] >> 32);
	h = trail_digest_step(h, h >> 32);
	return h ? h : 1;
}

#endif
