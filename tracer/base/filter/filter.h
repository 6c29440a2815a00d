/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracer/base/filter/: the filter of an event rule, the text after `if`. Parser, type check, and
 * compiler to programs for abi/filter_interp.h.
 *
 *   filter.h        (this file) what other rooms call
 *   tree.h          the parsed expression
 *   parse.c         operators and operands
 *   parse_value.c   numbers, strings, fields and contexts
 *   make.c          filters that the daemon makes
 *   print.c         the expression as text; tables.c: its operators and contexts
 *   typecheck.c     types, constants and places of fields for one event
 *   pattern.c       string literals with stars
 *   fields.c        the fields that a filter names
 *   field_offset.c  the place of a field in a payload
 *   compile.c       words, labels and filters of a program
 *   codegen.c       conditions and values of a program
 *   relax.c         filters of which only a part can be decided
 *   run.c           the interpreter, once for the whole daemon
 *
 * No lock: an expression does not change after it was parsed, and is reference counted. Any thread
 * may call these functions.
 *
 *   EXPR  = EXPR BINARY EXPR | UNARY EXPR | ( EXPR ) | VALUE
 *   VALUE = 42 | 0x2a | 052 | 42ul | 1.5e3 | "text*" | field | field[3] | a.b[3].c | $ctx.NAME
 *         | $app.PROVIDER:NAME
 *
 * Operators, from the tightest binding to the loosest; binary operators of one group associate from
 * left to right. As in LTTng and unlike C, the bitwise ones bind tighter than the comparisons:
 *
 *   ! ~ - +     <<  >>     &     ^     |     <  <=  >  >=     ==  !=     &&     ||
 *
 * Values. Integers have 64 bits and are signed or unsigned. A literal is signed unless it has the
 * suffix u or does not fit. A comparison of a signed with an unsigned integer is mathematically
 * correct: -1 is less than any unsigned number. If one side is floating point, both are converted
 * to double. A comparison, !, && and || give 1 or 0. ~ & | ^ << >> are for integers and work on the
 * 64 bits; the result is unsigned if an operand is (for a shift: the left one); >> shifts in zeros
 * for both types. The negative of an integer is signed, modulo 2^64. Strings can be compared with
 * == and != only, and only with strings. In a literal of a comparison, each `*` matches any run of
 * bytes, `\*` matches a star. Text arrays and text sequences are strings too; they end at their
 * first NUL. A value that is neither compared nor computed with (the operands of ! && ||, and the
 * whole filter) is true unless it is 0; a string has no truth value.
 *
 * Missing values. A filter that needs a missing value is false as a whole. Missing are: a field or
 * context that the event or application does not have, an element beyond the end of its array, an
 * application context without a value or with a value of the wrong type, a shift by less than 0 or
 * more than 63. && and || evaluate their right side only if the left one does not decide, so a
 * missing value counts only if it is reached: without a field b, `a == 1 || b == 2` is true if a is
 * 1; `b == 2 || a == 1`, `!b` and `!(b == 2)` are never true.
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
#include "tracer/base/lexer.h"

#define FILTER_TEXT_MAX 4096u   /* bytes of an expression, as written and as printed */
#define FILTER_LEVELS_MAX 64    /* of parentheses and operators; a chain of && or || is one level */

struct filter;                  /* a parsed expression: immutable, reference counted */

/*
 * Parses what follows `if`, up to the line's end or a stop word in place of an operator; s->at is
 * there then. The domain decides which contexts exist. 0; -EINVAL with text and column, also if
 * types clash for every event; -E2BIG: the expression is too long; -EOPNOTSUPP: a context that
 * kernel events cannot have; -ENOMEM.
 */
int filter_parse(struct scan *s, enum domain domain, struct filter **out);
/*
 * Before others have the filter: later errors show its line from byte `begin` on, where the rule
 * begins of which it is a part.
 */
void filter_set_begin(struct filter *f, size_t begin);
struct filter *filter_get(struct filter *f);
void filter_put(struct filter *f);      /* NULL is allowed */

/*
 * Appends the normalized text: single blanks, parentheses and numbers as in the source, strings
 * with the escapes of md_buf_escape. Parsing this text and printing it again gives the same text.
 */
void filter_print(const struct filter *f, struct md_buf *out);

/*
 * The fields of an event as in a registration file: names are offsets in strings. Filters use the
 * names that readers see (md_name_field); if two fields have one name, the first counts.
 */
struct filter_event {
	const struct trail_reg_field *fields;
	uint32_t field_count;
	const char *strings;
	/*
	 * The program cannot read all values; another filter decides on the rest. contexts: the
	 * kinds that it can read, one bit each.
	 */
	bool partial;
	uint64_t contexts;
	/*
	 * For a kernel record, which is always partial: the offset of each field in it;
	 * FILTER_OPAQUE: not readable there. The size of a sequence's length may be an enum
	 * filter_located; then `count` of a text is its maximum in bytes (0: no limit). NULL: a
	 * payload.
	 */
	const uint32_t *places;
};

#define FILTER_OPAQUE UINT32_MAX

struct filter_input;

/* filter_run() of abi/filter_interp.h: whether the program records this event */
bool filter_holds(const void *program, size_t size, const struct filter_input *in);

struct md_type;

/*
 * A field of filter_event.fields that has the type: a number, a string, or an array or sequence of
 * numbers or text; else filters cannot use it. `name` is an offset in filter_event.strings.
 */
struct trail_reg_field filter_field_of(const struct md_type *t, uint32_t name);

/*
 * -EINVAL, with the filter's own line and a column, if types clash for this event: a string
 * compared with a number, an index of a field that is not an array, bits of a floating point
 * number, … A field that the event does not have is not an error. -ENOMEM.
 */
int filter_check(const struct filter *f, const struct filter_event *e, struct tr_err *err);

/*
 * Appends a program for "any of the filters" on this event; its length is a multiple of 8. 0: done;
 * 1: always true, nothing appended; 2: never true, nothing appended (types clash in each filter, or
 * all that is left to decide are missing fields). A filter whose types clash counts as false.
 * -ENOMEM; -E2BIG: more than TRAIL_PROGRAM_MAX bytes. For a partial event the program leaves out
 * conditions on values that it cannot read: it may then be true for more events than the filters,
 * never for fewer.
 */
int filter_compile(const struct filter *const *filters, size_t count, const struct filter_event *e,
		   struct md_buf *out);

/*
 * Whether a partial program for the filter is true for exactly the filter's events. False also if
 * memory is short.
 */
bool filter_is_whole(const struct filter *f, const struct filter_event *e);

/* ---- the fields that a filter names (fields.c) ---- */

struct filter_node;

/* The i-th field that the filter names, from 0 on; the filter owns it. NULL: it names no more. */
const struct filter_node *filter_named_field(const struct filter *f, size_t i);
/*
 * Which of the fields that the filter names the event does not have: bit i is the i-th field, up to
 * 64. 0 also if types clash, or memory is short.
 */
uint64_t filter_missing_fields(const struct filter *f, const struct filter_event *e);
/*
 * Whether an event has the field. True also if memory is short. *at: its index; UINT32_MAX: none,
 * or not known.
 */
bool filter_event_has(const struct filter_event *e, const struct filter_node *field, uint32_t *at);
/* Fails at the field's column with the sentence. */
int filter_fail_field(const struct filter *f, const struct filter_node *field, int code,
		      const char *sentence, struct tr_err *err);
/* Appends the names of the event's fields in the form that filters use, each with a NUL. */
void filter_event_names(const struct filter_event *e, struct md_buf *out);
/* The kinds (enum trail_context) of the contexts that the filter names, one bit each. */
uint64_t filter_contexts_named(const struct filter *f);
/* Appends the `provider:name` of each application context that the filter names, with a NUL. */
void filter_app_contexts(const struct filter *f, struct md_buf *out);
/*
 * Fails with -EINVAL at the field's column: `where` has no such field. Suggests the nearest of the
 * names.
 */
int filter_no_field(const struct filter *f, const struct filter_node *field, const char *where,
		    struct md_buf *names, struct tr_err *err);

#endif
