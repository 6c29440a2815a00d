/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Extra data of a kernel event, which a rule gives after its pattern:
 *
 *	with EXPR[:TYPE] [as NAME], …
 *
 * EXPR is a place, or members of a structure that a pointer there leads to:
 *
 *	$argN           the N'th argument, counted from 1, at a function's entry
 *	$retval  $comm  what the function returns; the thread's name
 *	$stack  $stackN  the stack pointer; the N'th word of the stack
 *	%REG            a register, as tracefs names it (%di)
 *	argN            of a usdt probe: its N'th argument, counted from 0
 *	NAME            an argument of a kernel function or a tracepoint by its name; a field of a
 *			tracepoint
 *	+OFF(EXPR)  -OFF(EXPR)  +uOFF(EXPR)     memory there; u: of the process
 *	EXPR->MEMBER  EXPR.MEMBER       a member of a structure
 *
 * Each becomes a fetch argument of the probe in tracefs, and a field of the event. The fetch
 * argument of a parsed item is `before FROM closers :type`, where FROM is the place.
 *
 * The kernel leaves the bytes of a value as they were when a pointer on the way to it is bad. So
 * the record has these pointers, too, in hidden fields after the items
 *
 *	EXTRA_POINTER k|u NUMBER _ ITEMS
 *
 * k: memory of the kernel is read there, u: of the process. ITEMS: hexadecimal; bit n stands for
 * the n'th item from the end, whose value needs the pointer. kevent/extra_pointer.h reads them.
 */
#ifndef TRACER_PROBE_EXTRA_H
#define TRACER_PROBE_EXTRA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metadata/buf.h"
#include "tracer/base/err.h"
#include "tracer/base/lexer.h"

#define EXTRA_MAX 32u           /* of a rule */
#define EXTRA_STEPS_MAX 16u     /* pointers and members of an expression */
#define EXTRA_NAME_MAX 32u      /* of a field in tracefs, with the NUL */
#define EXTRA_POINTER "__trailfs_"
#define EXTRA_SIGN "unavailable"        /* field of the trace: names of items without a value */

struct extra_item {
	char *text;             /* the expression; owned */
	size_t column;          /* of the expression in extra.line */
	unsigned int wraps;     /* of +OFF( before the place */
	size_t root, root_len;  /* the place, in text; after it are members or closing brackets */
	bool members;
	char type[8];           /* "": none was given */
	char name[EXTRA_NAME_MAX];      /* of the field */
	bool named;             /* by `as` */

	/* Set by extra_resolve. */
	char *before;           /* `+8(+0(`; owned */
	char *from;             /* the place for tracefs; of usdt probes `argN`; owned */
	unsigned int closers;
	char as[24];            /* the type for tracefs; "": that of the usdt operand */
};

struct extra {
	struct extra_item *items;       /* owned */
	size_t count;
	char *line;             /* from which it was parsed, for columns; owned; NULL: no items */
};

/*
 * Parses the clause after `with` from s->at up to a word that no comma precedes; s->at is there
 * then. 0, -ENOMEM, or -EINVAL with the text and the column.
 */
int extra_parse(struct scan *s, struct extra *out);
/* Later errors show the line from byte `begin` on, where the rule begins. */
void extra_set_begin(struct extra *x, size_t begin);
/* Copies what was parsed, without what extra_resolve has set. 0, or -ENOMEM; *to is empty then. */
int extra_copy(const struct extra *from, struct extra *to);
/* Appends a copy of one item. 0 or -ENOMEM. */
int extra_add(struct extra *x, const struct extra_item *i);
/* An order of the data, whatever its resolution and its columns; 0: equal. */
int extra_compare(const struct extra *a, const struct extra *b);
void extra_deinit(struct extra *x);
/* Appends the clause without `with`; extra_parse reads it back. */
void extra_print(const struct extra *x, struct md_buf *out);
/* The item of that field; NULL. */
const struct extra_item *extra_find(const struct extra *x, const char *name, size_t len);

/* Sets a sentence, with byte `at` of the item's expression as the column in the line. */
int extra_fail(const struct extra *x, const struct extra_item *i, size_t at, int code,
	       struct tr_err *err, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

struct dynamic_event;
struct btf_files;
/*
 * Turns the items of a rule into places for tracefs. types: those of the kernel. -EINVAL: no such
 * place here, or no such member; -EOPNOTSUPP: the types are not known; -ENOMEM.
 */
int extra_resolve(struct dynamic_event *d, struct btf_files *types, struct tr_err *err);
/* Appends ` NAME=FETCH:TYPE`; from: the place, NULL: the item's own. */
void extra_put(const struct extra_item *i, const char *from, const char *type,
	       struct md_buf *out);
bool extra_is_string(const char *type);
/* Appends the hidden fields; from[i]: the place of item i, NULL: its own. */
void extra_put_pointers(const struct dynamic_event *d, const char *const *from,
			struct md_buf *out);

#endif
