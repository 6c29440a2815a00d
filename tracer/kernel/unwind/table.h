/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a caller's registers are found at each address of an ELF file. Private to unwind/. */
#ifndef TRACER_UNWIND_TABLE_H
#define TRACER_UNWIND_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metadata/buf.h"
#include "tracer/kernel/symbol/code_map.h"
#include "tracer/kernel/unwind/unwind.h"

enum unwind_from {
	FROM_NOWHERE,           /* not known; of a return address: the stack ends here */
	FROM_SAME,              /* a register that was not changed */
	FROM_SP, FROM_BP, FROM_BX,      /* the register plus `value` */
	FROM_CFA,               /* it is saved at the frame's address (CFA) plus `value` */
	FROM_EXPRESSION,        /* `value`: where table.expressions has its length and its bytes */
};

struct unwind_place {
	int32_t value;
	uint8_t from;           /* enum unwind_from */
};

struct unwind_rule {
	struct unwind_place cfa;        /* a register, or FROM_EXPRESSION of the address itself */
	struct unwind_place ip, bp, bx; /* FROM_EXPRESSION: of where it is saved */
	bool signal;            /* the caller was interrupted: it is at the address, not after it */
};

struct unwind_row {             /* of addresses up to the next row's */
	uint32_t at;            /* from table.base */
	uint32_t rule;          /* index; 0: no rule */
};

struct unwind_segment {         /* as struct elf_segment */
	uint64_t offset, address, size;
	bool executable;
};

struct unwind_table {
	uint64_t base;
	struct unwind_row *rows;        /* by `at`; owned */
	size_t row_count;
	struct unwind_rule *rules;      /* owned; each once */
	size_t rule_count;
	struct md_buf expressions;
	struct unwind_segment *segments;        /* owned */
	uint32_t segment_count;
};

/* The rule at an address in terms of the file; NULL: none. */
const struct unwind_rule *unwind_table_find(const struct unwind_table *t, uint64_t address);
void unwind_table_deinit(struct unwind_table *t);

struct unwind_file {
	uint64_t device, inode, size;   /* which file; all 0: the vDSO */
	int64_t changed;        /* ns: when; a number of an inode is used again */
	uint32_t uses;          /* mappings */
	size_t charged;         /* bytes, of the limit of all */
	struct unwind_table table;
};

/*
 * The file of a mapping, with one more use; see unwind_space_add. NULL: it has no rules, or they
 * are too many.
 */
struct unwind_file *unwinder_file(struct unwinder *u, int process, const struct code_mapping *m);
void unwind_file_release(struct unwind_file *f);        /* NULL is allowed */

#endif
