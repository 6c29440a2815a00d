/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The instructions of .eh_frame, which say how rules change from address to address. Private to
 * unwind/.
 */
#ifndef TRACER_UNWIND_INSTRUCTION_H
#define TRACER_UNWIND_INSTRUCTION_H

#include "tracer/kernel/unwind/cursor.h"
#include "tracer/kernel/unwind/table.h"

#define RULE_BUCKETS 4096u      /* a power of two */

struct rule_writer {
	struct unwind_table *t;
	uint32_t heads[RULE_BUCKETS], *next;    /* rules by hash: index + 1; next is owned */
	bool failed;                            /* no memory, or too many */
};

struct frame_state {                    /* at an address */
	uint64_t base;                  /* register that the CFA is relative to */
	int64_t offset;
	struct unwind_place computed;   /* FROM_EXPRESSION: the CFA instead */
	struct unwind_place ip, bp, bx;
};

struct frame_common {                   /* a Common Information Entry */
	uint64_t code_unit;
	int64_t data_unit;
	uint8_t form;                   /* of addresses in its entries */
	bool signal, augmented;
	struct frame_state first;
};

/* The number of the return address's register in DWARF for AMD64 */
#define DWARF_RETURN 16

/* Makes rule 0 of an empty table, which is none. */
void rule_writer_init(struct rule_writer *w, struct unwind_table *t);
void rule_writer_deinit(struct rule_writer *w);
/* Runs the first instructions, which set common->first. False: they cannot be understood. */
bool frame_run_first(struct rule_writer *w, struct frame_common *common, struct dwarf_cursor c);
/* Adds the rows of the addresses from `from` to `end`; from where it is not understood on, none. */
void frame_run(struct rule_writer *w, const struct frame_common *common, struct dwarf_cursor c,
	       uint64_t from, uint64_t end);

#endif
