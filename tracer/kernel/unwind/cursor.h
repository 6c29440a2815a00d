/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cursor over DWARF data, which may be hostile. Private to unwind/. */
#ifndef TRACER_UNWIND_CURSOR_H
#define TRACER_UNWIND_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "metadata/number.h"

struct dwarf_cursor {
	const uint8_t *at, *end;
	bool failed;            /* a read went beyond the end; it and all later ones give 0 */
};

static inline bool dwarf_has(struct dwarf_cursor *c, uint64_t n)
{
	if (!c->failed && n <= (uint64_t)(c->end - c->at))
		return true;
	c->failed = true;
	return false;
}

/* A number of 1 to 8 bytes, as files for this host have them. */
static inline uint64_t dwarf_number(struct dwarf_cursor *c, unsigned int bytes)
{
	uint64_t v = 0;

	if (!dwarf_has(c, bytes))
		return 0;
	v = md_load(c->at, bytes, MD_HOST_IS_BIG);
	c->at += bytes;
	return v;
}

/* The same with a sign. */
static inline int64_t dwarf_signed(struct dwarf_cursor *c, unsigned int bytes)
{
	unsigned int rest = 64 - 8 * bytes;

	return (int64_t)(dwarf_number(c, bytes) << rest) >> rest;
}

/* LEB128 (DWARF 4, section 7.6); bits beyond 64 are left out. */
static inline uint64_t dwarf_uleb(struct dwarf_cursor *c)
{
	uint64_t v = 0;
	uint8_t byte;

	for (unsigned int shift = 0;; shift += 7) {
		byte = (uint8_t)dwarf_number(c, 1);
		if (shift < 64)
			v |= (uint64_t)(byte & 127) << shift;
		if (c->failed || !(byte & 128))
			return v;
	}
}

static inline int64_t dwarf_sleb(struct dwarf_cursor *c)
{
	uint64_t v = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)dwarf_number(c, 1);
		if (shift < 64)
			v |= (uint64_t)(byte & 127) << shift;
		shift += shift < 64 ? 7 : 0;
	} while (!c->failed && (byte & 128));
	if (shift < 64 && (byte & 64))
		v |= ~(uint64_t)0 << shift;
	return (int64_t)v;
}

#endif
