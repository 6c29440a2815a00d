/* SPDX-License-Identifier: MIT */
/*
 * Which parts of a payload an application records in one place: a list of steps over the payload,
 * from its beginning; what follows the last step is left out. An event of such a slot has a layout
 * of its own.
 *
 * Steps may change while they run (as filter programs do, see ustlib/lib.h): the runner reads each
 * once, and stays inside the payload and its output whatever they say.
 */
#ifndef TRACER_ABI_PICK_H
#define TRACER_ABI_PICK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TRAIL_PICK_STEPS_MAX 128u
#define TRAIL_PICK_TEXT_MAX 255u        /* bytes of a text that is taken; the rest is cut off */
#define TRAIL_PICK_MAX 1024u            /* bytes that all steps together may take */

enum trail_pick {
	TRAIL_PICK_BYTES,               /* `bytes` bytes */
	TRAIL_PICK_STRING,              /* NUL terminated */
	TRAIL_PICK_SEQUENCE,            /* a length of `size` bytes, and elements of `bytes` each */
};

struct trail_pick_step {
	uint8_t kind;                   /* enum trail_pick */
	uint8_t size;
	uint8_t take;                   /* 0: the part is left out; of a SEQUENCE: only bytes */
	uint8_t reserved;
	uint32_t bytes;
};

/* What the step takes at most. */
static inline uint64_t trail_pick_bound(const struct trail_pick_step *s)
{
	if (!s->take)
		return 0;
	return s->kind == TRAIL_PICK_BYTES    ? s->bytes
	       : s->kind == TRAIL_PICK_STRING ? TRAIL_PICK_TEXT_MAX + 1
					      : s->size + TRAIL_PICK_TEXT_MAX;
}

static inline int trail_pick_is_valid(const struct trail_pick_step *s, uint32_t count)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		sum += trail_pick_bound(&s[i]);
		if (s[i].kind > TRAIL_PICK_SEQUENCE || sum > TRAIL_PICK_MAX)
			return 0;
		if (s[i].kind == TRAIL_PICK_SEQUENCE &&
		    ((s[i].size != 1 && s[i].size != 2 && s[i].size != 4 && s[i].size != 8) ||
		     (s[i].take && s[i].bytes != 1)))
			return 0;
	}
	return count <= TRAIL_PICK_STEPS_MAX;
}

/*
 * Runs the steps: `len` bytes at `from`, TRAIL_PICK_MAX bytes of room at `to`. The bytes taken;
 * SIZE_MAX: the payload is not what the steps are for.
 */
static inline size_t trail_pick_run(const struct trail_pick_step *steps, uint32_t count,
				    const uint8_t *from, size_t len, uint8_t *to)
{
	size_t at = 0, out = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct trail_pick_step s;
		const uint8_t *nul;
		uint64_t n, take, head = 0;

		memcpy(&s, (const void *)&steps[i], sizeof(s));
		n = s.bytes;
		if (s.kind == TRAIL_PICK_STRING) {
			nul = memchr(from + at, 0, len - at);
			if (!nul)
				return SIZE_MAX;
			n = (uint64_t)(nul - (from + at)) + 1;
		} else if (s.kind == TRAIL_PICK_SEQUENCE) {
			head = s.size;
			if (head > 8 || head > len - at)
				return SIZE_MAX;
			n = 0;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
			memcpy((uint8_t *)&n + (8 - head), from + at, head);
#else
			memcpy(&n, from + at, head);
#endif
			at += head;
			if (s.bytes && n > (len - at) / s.bytes)
				return SIZE_MAX;
			n *= s.bytes;
		}
		if (n > len - at)
			return SIZE_MAX;
		take = s.kind != TRAIL_PICK_BYTES && n > TRAIL_PICK_TEXT_MAX ? TRAIL_PICK_TEXT_MAX
									      : n;
		if (s.take) {
			if (head + take + 1 > TRAIL_PICK_MAX - out)
				return SIZE_MAX;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
			memcpy(to + out, (const uint8_t *)&take + (8 - head), head);
#else
			memcpy(to + out, &take, head);
#endif
			memcpy(to + out + head, from + at, take);
			out += head + take;
			if (s.kind == TRAIL_PICK_STRING && take < n)
				to[out++] = 0;
		}
		at += n;
	}
	return out;
}

#endif
