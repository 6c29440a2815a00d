/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hash of the tracer's tables, digests and checksums: FNV-1a, 64 bits. Files store its values
 * (checkpoints, event logs), so they must never change. It does not resist chosen collisions: a
 * user who chooses the input can choose the hash. Any thread; async-signal-safe.
 */
#ifndef TRACER_BASE_HASH_H
#define TRACER_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START 0xcbf29ce484222325u

/* One step of the hash: adds a byte, or a whole number as if it were a byte. */
static inline uint64_t hash_step(uint64_t h, uint64_t v)
{
	return (h ^ v) * 0x100000001b3u;
}

static inline uint64_t hash_bytes(uint64_t h, const void *bytes, size_t n)
{
	for (const unsigned char *p = bytes; n--; p++)
		h = hash_step(h, *p);
	return h;
}

/* Adds the bytes of a string without its NUL. */
static inline uint64_t hash_string(uint64_t h, const char *s)
{
	for (; *s; s++)
		h = hash_step(h, (unsigned char)*s);
	return h;
}

#endif
