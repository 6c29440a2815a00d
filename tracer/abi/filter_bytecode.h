/* SPDX-License-Identifier: MIT */
/*
 * Filter programs: the format, and the verifier. filter/compile.c makes them, abi/filter_interp.h
 * runs them.
 *
 * A program is an array of 16-byte words, followed by literals: text, wide ranges, tables for
 * searching. Offsets of literals count from the program's start. Word 0 is FILTER_HEADER and has
 * the number of words; execution begins at word 1.
 *
 *       0      1      2       4               8               12
 *     +------+------+-------+---------------+---------------+---------------+
 *     | op   | flag | jump  | at            | a             | b             |
 *     +------+------+-------+---------------+---------------+---------------+
 *
 * Tests. If the outcome of a test equals the upper bit of `flag`, the program jumps, else it
 * continues with the next word. `jump` is the number of words to skip, or FILTER_JUMP_FALSE or
 * FILTER_JUMP_TRUE, which end the program. A comparison of an integer with a constant is a test for
 * a range, lo <= x <= hi, whatever the operator: `a < 0` on an int32 at offset 0 is one word,
 * RANGE_32 lo=-2^31 span=2^31-1, jump FALSE if it does not hold.
 *
 * Places. A field is `at` bytes after an anchor. Anchor 0 is the start of the payload, anchor k the
 * end of the k-th field of variable length. WALK computes anchor k+1 from anchor k unless it is
 * known, so fields that no test reads cost nothing.
 *
 * Registers hold values. An instruction may set register k only if registers 0 to k-1 are set, so
 * none is read unset.
 *
 * Kernel records. Programs for kernel events read the record before it is transcoded to a payload:
 * all fields are relative to anchor 0, and the length of a sequence may be one of enum
 * filter_located. The kernel module runs these programs.
 *
 * Failure: a value is missing (an index beyond the end, a context that has none, types that do not
 * match, an invalid shift). The program continues at the word that the last BEGIN named, where the
 * next filter of the list begins; without such a word the result is false.
 */
#ifndef TRACER_ABI_FILTER_BYTECODE_H
#define TRACER_ABI_FILTER_BYTECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tracer/abi/app.h"

/* Kernel code does not use floating point: the verifier of the module rejects programs that do. */
#ifdef __KERNEL__
#define FILTER_FLOATS 0
#else
#define FILTER_FLOATS 1
#endif

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

#define FILTER_REGISTERS 16u
#define FILTER_WORD 16u                 /* bytes */
#define FILTER_VERSION 1u
#define FILTER_JUMP_FALSE 0xfffeu       /* the lowest bit is the result */
#define FILTER_JUMP_TRUE 0xffffu
#define FILTER_SENSE 0x80u              /* of flag; the other bits are an anchor or a register */

enum filter_op {
	FILTER_RETURN = 1,              /* at: 0 or 1 */
	/*
	 * Tests of an integer in the payload. flag: anchor, a: lo, b: hi - lo, as 32 bits; for 64
	 * bits a is the literal {lo, hi - lo}.
	 */
	FILTER_RANGE_S8, FILTER_RANGE_U8, FILTER_RANGE_S16, FILTER_RANGE_U16,
	FILTER_RANGE_32, FILTER_RANGE_64,
	FILTER_RANGE_S16_BE, FILTER_RANGE_U16_BE, FILTER_RANGE_32_BE, FILTER_RANGE_64_BE,
	/*
	 * Test of a string in the payload. flag: anchor, a: literal, b: its length | enum
	 * filter_match << 16; not FIND.
	 */
	FILTER_TEST_STRING,
	FILTER_HEADER,                  /* at: words, a: FILTER_VERSION */
	FILTER_JUMP,
	FILTER_BEGIN,                   /* jump: where to continue after a failure */
	FILTER_WALK,                    /* at, a: FILTER_PLACE of a string (size 0) or a sequence */
	/* Loads into register flag. at, a: FILTER_PLACE. */
	FILTER_LOAD_INT, FILTER_LOAD_FLOAT, FILTER_LOAD_STRING,
	FILTER_LOAD_TEXT,               /* b: bytes */
	FILTER_LOAD_SEQUENCE,           /* of text; b: most bytes, 0: all */
	FILTER_LOAD_ELEMENT,            /* of a sequence of numbers; b: index */
	FILTER_CONSTANT,                /* at: type, a and b: 64 bits */
	FILTER_CONTEXT,                 /* at: kind, a: name, b: its length; 0: none */
	/* Into register flag from registers a and (if there are two operands) b. */
	FILTER_NEGATE, FILTER_COMPLEMENT, FILTER_AND, FILTER_OR, FILTER_XOR,
	FILTER_LEFT, FILTER_RIGHT,
	FILTER_COMPARE,                 /* test. flag: unused, at: relation, a and b: registers */
	FILTER_COMPARE_WITH,            /* test. flag: register, at: relation | type << 8 */
	FILTER_TRUTH,                   /* test. flag: register */
	/* Test. flag: register, a: literal, b: as TEST_STRING. Removes the match from the text. */
	FILTER_MATCH,
	/* As LOAD_INT, of a bit field: size is its bits, b the first one in the byte */
	FILTER_LOAD_BITS,
	/*
	 * at, a: FILTER_PLACE of a variant's tag; flag: an option. b is 0: fails if the variant has
	 * another option. Else sets the next anchor to the variant's end if it has this option, of
	 * b - 2 bytes, or a string if b is 1.
	 */
	FILTER_OPTION,
	FILTER_OPS
};

enum filter_match {                     /* the literal is … */
	FILTER_MATCH_WHOLE,             /* all of the text; TEST_STRING compares the NUL as well */
	FILTER_MATCH_PREFIX,
	FILTER_MATCH_SUFFIX,
	FILTER_MATCH_FIND,              /* anywhere; followed by a table for filter_find */
};

/* Relations: sets of outcomes. */
enum {
	FILTER_LESS = 1, FILTER_EQUAL = 2, FILTER_GREATER = 4, FILTER_UNORDERED = 8,
	FILTER_UNEQUAL = 13
};

/* In place of the size of a length. A sequence outside the record has no elements. */
enum filter_located {
	FILTER_LENGTH_LOC = 16,         /* 32 bits: offset in the record, bytes << 16 */
	/* the same, with the offset from the end of these 32 bits */
	FILTER_LENGTH_REL_LOC,
	FILTER_LENGTH_REST,             /* from here to the record's end */
};

/*
 * Where a field lies, without its offset. flags: TRAIL_FIELD_SIGNED, _BIG_ENDIAN, _FLOAT. length:
 * size of a sequence's length.
 */
#define FILTER_PLACE(size, flags, anchor, length) \
	((uint32_t)(size) | (uint32_t)(flags) << 8 | (uint32_t)(anchor) << 16 | \
	 (uint32_t)(length) << 24)

struct filter_word {
	uint8_t op, flag;
	uint16_t jump;
	uint32_t at, a, b;
};

/* Half a word, at any alignment. */
typedef uint64_t filter_half __attribute__((may_alias, aligned(1)));

static inline void filter_put_word(void *to, struct filter_word w)
{
	uint64_t halves[2] = {
		(uint64_t)w.at << 32 | (uint64_t)w.jump << 16 | (uint64_t)w.flag << 8 | w.op,
		(uint64_t)w.b << 32 | w.a
	};

	memcpy(to, halves, sizeof(halves));
}

/* Loads each half once, because another process may write to it meanwhile. */
static inline struct filter_word filter_word(const void *program, size_t i)
{
	const volatile filter_half *p = (const volatile filter_half *)program + 2 * i;
	uint64_t low = p[0], high = p[1];

	return (struct filter_word){
		.op = (uint8_t)low, .flag = (uint8_t)(low >> 8), .jump = (uint16_t)(low >> 16),
		.at = (uint32_t)(low >> 32), .a = (uint32_t)high, .b = (uint32_t)(high >> 32),
	};
}

static inline bool filter_fits(size_t len, uint64_t base, uint32_t at, uint64_t n)
{
	return base + at + n <= len;    /* n is below 2^62 everywhere */
}

static inline bool filter_is_size(uint32_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static inline bool filter_is_located(uint32_t length)
{
	return length >= FILTER_LENGTH_LOC && length <= FILTER_LENGTH_REST;
}

/* A kind of context; those with a name have one, the others have none. */
static inline bool filter_is_context(struct filter_word w)
{
	bool named = w.at == TRAIL_CONTEXT_APP || w.at == TRAIL_CONTEXT_PERF;

	return w.at >= 1 && w.at < TRAIL_CONTEXT_ALL && named == (w.b > 0) && w.b <= TRAIL_NAME_MAX;
}

/* A type that a constant can have. */
static inline bool filter_is_number(uint32_t type)
{
	return type == FILTER_SIGNED || type == FILTER_UNSIGNED ||
	       (FILTER_FLOATS && type == FILTER_FLOAT);
}

static inline bool filter_verify_jump(struct filter_word w, size_t at, size_t words)
{
	return (w.jump >= FILTER_JUMP_FALSE && w.op != FILTER_BEGIN) || at + 1 + w.jump < words;
}

static inline bool filter_verify_literal(size_t size, size_t words, struct filter_word w,
					 uint64_t n)
{
	return w.a >= words * FILTER_WORD && filter_fits(size, 0, w.a, n);
}

static inline bool filter_verify_place(struct filter_word w, bool sequence)
{
	uint32_t size = w.a & 255, flags = w.a >> 8 & 255, anchor = w.a >> 16 & 255,
		 length = w.a >> 24;

	if (anchor > TRAIL_EVENT_FIELDS_MAX ||
	    (flags & ~(TRAIL_FIELD_SIGNED | TRAIL_FIELD_BIG_ENDIAN | TRAIL_FIELD_FLOAT)))
		return false;
	if ((flags & TRAIL_FIELD_FLOAT) &&
	    (!FILTER_FLOATS || size < 4 ||
	     (w.op != FILTER_LOAD_FLOAT && w.op != FILTER_LOAD_ELEMENT && w.op != FILTER_WALK)))
		return false;
	if (!sequence && length)
		return false;
	if (sequence && !filter_is_size(length) &&
	    (!filter_is_located(length) || w.op == FILTER_WALK))
		return false;
	switch (w.op) {
	case FILTER_LOAD_FLOAT: return FILTER_FLOATS && (size == 4 || size == 8);
	case FILTER_LOAD_STRING: return size == 0;
	case FILTER_LOAD_TEXT:
	case FILTER_LOAD_SEQUENCE: return size == 1;
	case FILTER_WALK:
		return anchor < TRAIL_EVENT_FIELDS_MAX &&
		       (sequence ? filter_is_size(size) : size == 0);
	default: return filter_is_size(size);
	}
}

static inline bool filter_verify_load(size_t size, size_t words, struct filter_word w)
{
	if (w.flag >= FILTER_REGISTERS || w.jump)
		return false;
	switch (w.op) {
	case FILTER_CONSTANT:
		return filter_is_number(w.at);
	case FILTER_CONTEXT:
		return filter_is_context(w) && (!w.b || filter_verify_literal(size, words, w, w.b));
	case FILTER_LOAD_SEQUENCE:
	case FILTER_LOAD_ELEMENT:
		return filter_verify_place(w, true);
	default:
		return filter_verify_place(w, false) && (!w.b || w.op == FILTER_LOAD_TEXT);
	}
}

static inline bool filter_verify_match(size_t size, size_t words, struct filter_word w)
{
	uint32_t n = w.b & 0xffff, how = w.b >> 16;

	if (how > FILTER_MATCH_FIND ||
	    (how == FILTER_MATCH_FIND && (!n || w.op == FILTER_TEST_STRING)))
		return false;
	return filter_verify_literal(size, words, w, how == FILTER_MATCH_FIND ? 3 * n : n + 1);
}

static inline bool filter_is_bits(struct filter_word w)
{
	uint32_t bits = w.a & 255;

	return bits && w.b < 8 && bits + w.b <= 64;
}

static inline bool filter_verify_bits(struct filter_word w)
{
	return w.flag < FILTER_REGISTERS && !w.jump && filter_is_bits(w) &&
	       (w.a >> 16 & 255) <= TRAIL_EVENT_FIELDS_MAX && !(w.a >> 24) &&
	       !(w.a >> 8 & 255 & ~TRAIL_FIELD_SIGNED);
}

static inline bool filter_verify_option(struct filter_word w)
{
	return w.flag <= TRAIL_EVENT_FIELDS_MAX && !w.jump && !(w.a & ~0xff0000u) &&
	       w.a >> 16 < TRAIL_EVENT_FIELDS_MAX && w.b <= 2 + sizeof(uint64_t);
}

/* Tests and operators. */
static inline bool filter_verify_rest(size_t size, size_t words, struct filter_word w)
{
	uint32_t r = w.flag & ~FILTER_SENSE, type = w.at >> 8;

	switch (w.op) {
	case FILTER_RANGE_64:
	case FILTER_RANGE_64_BE:
		return r <= TRAIL_EVENT_FIELDS_MAX && filter_verify_literal(size, words, w, 16);
	case FILTER_TEST_STRING:
		return r <= TRAIL_EVENT_FIELDS_MAX && filter_verify_match(size, words, w);
	case FILTER_COMPARE:
		return w.at < 16 && w.a < FILTER_REGISTERS && w.b < FILTER_REGISTERS;
	case FILTER_COMPARE_WITH:
		return r < FILTER_REGISTERS && (w.at & 255) < 16 && filter_is_number(type);
	case FILTER_TRUTH:
		return r < FILTER_REGISTERS;
	case FILTER_MATCH:
		return r < FILTER_REGISTERS && filter_verify_match(size, words, w);
	case FILTER_JUMP:
	case FILTER_BEGIN:
		return r == 0;
	default:
		if (w.op >= FILTER_NEGATE)
			return w.flag < FILTER_REGISTERS && w.a < FILTER_REGISTERS &&
			       w.b < FILTER_REGISTERS && !w.jump;
		return r <= TRAIL_EVENT_FIELDS_MAX;     /* ranges */
	}
}

static inline bool filter_verify_word(size_t size, size_t words, struct filter_word w, size_t at)
{
	if (w.op < FILTER_RETURN || w.op >= FILTER_OPS || w.op == FILTER_HEADER)
		return false;
	if (w.op == FILTER_RETURN)
		return w.at <= 1;
	if (w.op == FILTER_JUMP)
		return w.flag == 0 && filter_verify_jump(w, at, words);
	if (at + 1 >= words)    /* execution would reach the literals */
		return false;
	if (w.op == FILTER_WALK)
		return filter_verify_place(w, w.a & 255) && !w.jump;
	if (w.op >= FILTER_LOAD_INT && w.op <= FILTER_CONTEXT)
		return filter_verify_load(size, words, w);
	if (w.op == FILTER_LOAD_BITS)
		return filter_verify_bits(w);
	if (w.op == FILTER_OPTION)
		return filter_verify_option(w);
	if (!(w.op >= FILTER_NEGATE && w.op <= FILTER_RIGHT) && !filter_verify_jump(w, at, words))
		return false;
	return filter_verify_rest(size, words, w);
}

/*
 * Checks that each word is one that the compiler could have made, as far as the word alone shows.
 */
static inline bool filter_verify(const void *program, size_t size)
{
	struct filter_word w;
	size_t words, at;

	if (size < 2 * FILTER_WORD || size > TRAIL_PROGRAM_MAX || size % 8)
		return false;
	w = filter_word(program, 0);
	words = w.at;
	if (w.op != FILTER_HEADER || w.a != FILTER_VERSION || words < 2 ||
	    words > size / FILTER_WORD)
		return false;
	for (at = 1; at < words; at++)
		if (!filter_verify_word(size, words, filter_word(program, at), at))
			return false;
	return true;
}

#endif
