/* SPDX-License-Identifier: MIT */
/*
 * Filter programs: what tracer/filtercompile.c makes of the filters of an event, and the interpreter that runs in the
 * application before each event. No dependency but string.h and stdint.h; no allocation, no lock, no call out but
 * for contexts: async-signal-safe.
 *
 * A program is an array of 16-byte words followed by literals: text, wide ranges, tables for searching. All offsets of literals are from the
 * program's start, which is 8-byte aligned. Word 0 is FILTER_HEADER and says how many words there are; the program begins
 * at word 1.
 *
 *       0      1      2       4               8               12
 *     +------+------+-------+---------------+---------------+---------------+
 *     | op   | flag | jump  | at            | a             | b             |
 *     +------+------+-------+---------------+---------------+---------------+
 *
 * Tests decide: if the outcome is the one that the upper bit of `flag` says, jump, else go on with the next word. `jump` is the
 * number of words left out, or FILTER_JUMP_FALSE, FILTER_JUMP_TRUE, which end the program. Comparisons of an integer with a constant
 * are tests for a range, lo <= x <= hi, whatever the operator: `a < 0` on an int32 at offset 0 is one word,
 * RANGE_32 lo=-2^31 span=2^31-1, jump FALSE if it does not hold.
 *
 * Places. A field is `at` bytes behind an anchor. Anchor 0 is the start of the payload, anchor k is the end of the k-th field of variable
 * length; WALK makes anchor k+1 from anchor k if it was not made yet, so fields that nobody looks at cost nothing.
 *
 * Values are in registers; a compiler uses them as a stack: operators take registers r and r+1 and leave r.
 *
 * Failure: a value is missing (an index behind the end, a context that has none, types that do not fit, a bad shift). The
 * program goes on at the word that the last BEGIN named, where the next filter of the list begins; if none is ahead it
 * ends with false.
 *
 * Guarantees, also for bytes that change while the program runs (it is read in place, from memory that may be used
 * again for something else):
 *   - Every word is copied into a local before anything in it is looked at. What it names is checked then: places in the payload
 *     against its length, literals against the program's size, registers and anchors against those that were set in this run.
 *   - The place in the program only grows, so a run ends after as many words as the program has. Text is looked at a fixed number
 *     of times per word: searching for a literal is linear in text and literal.
 *   - Nothing outside program[0..size) and payload[0..len) is read. Whatever is wrong, the result is false.
 * filter_verify tells at once, when a program is taken over, whether it is one that makes sense.
 */
#ifndef TRACER_FILTERRUN_H
#define TRACER_FILTERRUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tracer/abi.h"

struct filter_value {
	enum { FILTER_NONE, FILTER_SIGNED, FILTER_UNSIGNED, FILTER_FLOAT, FILTER_STRING } type;
	union {
		int64_t i;
		uint64_t u;
		double f;
		const char *s;          /* len bytes; need not end with NUL */
	};
	size_t len;
};

struct filter_input {
	/* The written fields, then those with TRAIL_FIELD_NOWRITE, packed as the application serializes them. */
	const uint8_t *payload;
	size_t len;
	/*
	 * The value of a context: kind is of enum trail_context. name: "provider:name" of TRAIL_CONTEXT_APP, what stands behind
	 * `perf:thread:` of TRAIL_CONTEXT_PERF, else NULL. False, or a value of type FILTER_NONE: there is none. A string must stay until filter_run
	 * returns, so it may not be in a buffer that the next call uses. NULL: there are no contexts.
	 */
	bool (*context)(void *arg, uint32_t kind, const char *name, struct filter_value *out);
	void *arg;
};

/* True: record. payload may be NULL if len is 0. */
static inline bool filter_run(const void *program, size_t size, const struct filter_input *in);
/* Every word is one that the compiler could have made, as far as that can be told from it alone. */
static inline bool filter_verify(const void *program, size_t size);

#endif
