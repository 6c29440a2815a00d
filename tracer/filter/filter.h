/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The filter of an event rule: what stands behind `if`. Parser, type check, and compiler to programs for tracer/abi/filter_interp.h.
 *
 *   EXPR  = EXPR BINARY EXPR | UNARY EXPR | ( EXPR ) | VALUE
 *   VALUE = 42 | 0x2a | 052 | 42ul | 1.5e3 | "text*" | field | field[3] | a.b[3].c | $ctx.NAME | $app.PROVIDER:NAME
 *
 * Operators, those that bind tightest first; binary ones of one line group from left to right (unlike C, and like LTTng, the
 * bitwise ones bind tighter than the comparisons):
 *
 *   ! ~ - +     <<  >>     &     ^     |     <  <=  >  >=     ==  !=     &&     ||
 *
 * Values. Integers have 64 bits; each is signed or unsigned. A literal is signed unless it has the suffix u or is too large. Comparing
 * a signed with an unsigned one is mathematically right: -1 is less than any unsigned number. Where one side is floating point, both
 * are taken as double. A comparison, !, && and || give 1 or 0. ~ & | ^ << >> are for integers and work on the 64 bits; the
 * result is unsigned if an operand is (of a shift: the left one); >> moves in zeros, whatever the type. - of an integer is
 * signed, modulo 2^64. Strings are compared with == and != only, with each other only. In a literal that is compared, each `*` stands for
 * any run of bytes, `\*` for a star. Text arrays and text sequences are strings too; they end at their first NUL.
 * What is neither compared nor computed with (the operands of ! && ||, and the whole) is true unless it is 0; a string has no truth.
 *
 * What is not there. A filter that needs a value which is not there is false as a whole: a field or context that the event or
 * application does not have, an element behind the end of its array, an application context without a value or with one of the wrong
 * type, a shift by less than 0 or more than 63. && and || look at their right side only when the left one does not decide, so a
 * missing value matters only if it is reached: with no field b, `a == 1 || b == 2` is true when a is 1, and `b == 2 || a == 1`,
 * `!b` and `!(b == 2)` never are.
 */
#ifndef TRACER_FILTER_FILTER_H
#define TRACER_FILTER_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metadata/buf.h"
#include "tracer/abi/app.h"
#include "tracer/base/base.h"
#include "tracer/base/err.h"

#define FILTER_TEXT_MAX 4096u   /* bytes of an expression, as written and as printed */
#define FILTER_LEVELS_MAX 64    /* of parentheses, and of operators in operators; a long chain of && or || is one level */

struct filter;                  /* a parsed expression: immutable, reference counted */

/*
 * Parses line[at …] (the text after `if`) up to the line's end (newline or NUL). The domain decides which
 * contexts there are. 0; -EINVAL with text and column, also if types clash whatever the event is; -E2BIG:
 * the expression is too long; -EOPNOTSUPP: a context that kernel events cannot have; -ENOMEM.
 */
int filter_parse(const char *line, size_t at, enum domain domain, struct filter **out,
		 struct tr_err *err);
struct filter *filter_get(struct filter *f);
void filter_put(struct filter *f);      /* NULL is allowed */

/*
 * Appends the normalized text: single blanks, the parentheses and numbers as they were written, strings with the escapes of
 * md_buf_escape. Parsing that and printing again gives the same.
 */
void filter_print(const struct filter *f, struct md_buf *out);

/*
 * An event's fields as in a registration file: names are offsets in strings. Filters name fields as readers see them
 * (md_name_field); of two with one name the first counts.
 */
struct filter_event {
	const struct trail_reg_field *fields;
	uint32_t field_count;
	const char *strings;
	/* Not all can be had: somebody else decides on the rest. Then: the kinds of contexts that can, bit by bit. */
	bool partial;
	uint64_t contexts;
	/*
	 * Of a record of the kernel, which is always partial: where in it each field is, FILTER_OPAQUE if it cannot be had from there. Sequences may have
	 * an enum filter_located for the size of their length, and of such texts `count` is the most bytes (0: no limit). NULL: it is a payload.
	 */
	const uint32_t *places;
};

#define FILTER_OPAQUE UINT32_MAX

/*
 * -EINVAL, with the filter's own line and a column, if types clash for this event: a string and a number compared, an
 * index of what is no array, bits of a floating point number, … Fields that the event does not have are no error. -ENOMEM.
 */
int filter_check(const struct filter *f, const struct filter_event *e, struct tr_err *err);

/*
 * A program for "any of the filters" on this event, appended to out; its length is a multiple of 8. 0: made; 1: always
 * true, nothing appended; 2: never true, nothing appended (types clash in each, or nothing but missing fields is left to decide). A
 * filter whose types clash counts as false, the others go on. -ENOMEM; -E2BIG: more than TRAIL_PROGRAM_MAX bytes.
 * Where it is partial, what depends on something that cannot be had is left out, so that it may be true of more, never of less.
 */
int filter_compile(const struct filter *const *filters, size_t count, const struct filter_event *e,
		   struct md_buf *out);

/* Whether a partial program for the filter is true of no more events than the filter is. False: no memory, too. */
bool filter_is_whole(const struct filter *f, const struct filter_event *e);

/* ---- the fields that a filter names: filter/fields.c ---- */

struct filter_node;

/* The i-th field that it names, from 0 on, the filter's own. NULL: it names no more. */
const struct filter_node *filter_named_field(const struct filter *f, size_t i);
/* Whether an event has the field; true, too, when memory runs out. */
bool filter_event_has(const struct filter_event *e, const struct filter_node *field);
/* Appends the names of the event's fields as filters use them, each with a NUL. */
void filter_event_names(const struct filter_event *e, struct md_buf *out);
/* -EINVAL, at the field's place: there is no such field in `where`; suggests the nearest of the names. */
int filter_no_field(const struct filter *f, const struct filter_node *field, const char *where,
		    struct md_buf *names, struct tr_err *err);

#endif
