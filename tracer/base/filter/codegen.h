/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interface between the two halves of the compiler: compile.c (words, labels, filters) and
 * codegen.c (conditions, values).
 */
#ifndef TRACER_FILTER_CODEGEN_H
#define TRACER_FILTER_CODEGEN_H

#include <errno.h>

#include "tracer/abi/filter_interp.h"
#include "tracer/base/filter/tree.h"

#define CODE_WORDS (TRAIL_PROGRAM_MAX / FILTER_WORD)

/*
 * A place that is not known yet. The words that jump there are chained by their jumps until it is.
 */
struct label {
	uint16_t ends;                  /* FILTER_JUMP_FALSE or _TRUE: the program ends; else 0 */
	uint16_t chain;                 /* the last word that jumps there; 0: none */
	bool used;
	uint32_t walked;                /* anchors that are set whichever word jumps */
};

struct code {
	const struct filter_event *e;
	struct filter_info *info;       /* of the current filter, by node */
	struct filter_word *words;
	size_t count;
	struct md_buf literals;         /* words have offsets in it until the program is complete */
	uint32_t walked;                /* anchors 1 … walked are set here */
	bool dead;                      /* no path leads here: append nothing */
	bool full;
	struct label *fail;             /* where the filter continues when a value is missing */
};

/* Where a condition continues; one of the two follows it and needs no jump. */
struct places {
	struct label *yes, *no;
	bool yes_follows;
};

size_t code_put(struct code *c, struct filter_word w);  /* its place; 0 if it was not appended */
void code_here(struct code *c, struct label *l);        /* the label is this place */
void code_here(struct code *c, struct label *l);
void code_go(struct code *c, struct label *to);
void code_test(struct code *c, struct filter_word w, struct places p);
uint32_t code_literal(struct code *c, const void *data, size_t n);

/* Registers below r are in use. */
void code_condition(struct code *c, const struct filter_node *n, uint8_t r, struct places p);

#endif
