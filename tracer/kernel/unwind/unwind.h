/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracer/kernel/unwind/: callstacks of programs without frame pointers, from the registers and a
 * copy of the top of the stack.
 *
 *	unwind.h      (this file) a process: what it maps; the walk
 *	unwind.c      … the walk, one frame after the other
 *	space.c       … the mappings of a process
 *	table.c       (table.h) the rules of one ELF file, by address; the limit of all files
 *	frame_info.c  (frame_info.h) reads the section .eh_frame into such a table
 *	instruction.c (instruction.h) … and runs the instructions of its entries
 *	expression.c  (expression.h) DWARF expressions, which some rules are
 *
 * Compilers write .eh_frame into every program for exceptions: it says for each instruction where
 * the caller's stack begins, and where its registers are (System V ABI, AMD64 supplement, section
 * 3.7; DWARF 4, section 6.4; Linux Standard Base, section 10.6). The files may be hostile: they are
 * read with limits, not mapped, and a wrong rule gives a wrong or short stack, nothing else.
 *
 * What cannot be followed by rules ends the stack or is followed by frame pointers: see unwind().
 * x86-64 only; elsewhere there is no rule for any address.
 *
 * Locks: none here. The caller serializes the calls for one struct unwinder and its spaces.
 */
#ifndef TRACER_UNWIND_UNWIND_H
#define TRACER_UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/kernel/symbol/code_map.h"

#define UNWIND_FRAMES_MAX 512u

struct unwinder;        /* the tables of all files */
struct unwind_space;    /* what one process maps */

struct unwinder *unwinder_create(void);         /* NULL: no memory */
void unwinder_free(struct unwinder *u);         /* after its spaces; NULL is allowed */

struct unwind_space *unwind_space_create(void); /* NULL: no memory */
struct unwind_space *unwind_space_copy(const struct unwind_space *from);        /* of a fork(2) */
void unwind_space_free(struct unwind_space *s); /* NULL is allowed */
/*
 * Adds a mapping, which replaces what was there. process: see code_map_open. Beyond the
 * limits, or if memory is short, the mapping has no rules.
 */
void unwind_space_add(struct unwinder *u, struct unwind_space *s, int process,
		      const struct code_mapping *m);
/* Adds all that a process maps now. */
void unwind_space_read(struct unwinder *u, struct unwind_space *s, int process);

struct unwind_input {
	uint64_t ip, sp, bp, bx;        /* registers */
	const uint8_t *stack;   /* bytes from sp on */
	size_t size;
};

/*
 * Writes the addresses of a stack, the innermost first: the instruction, then return addresses.
 * Where no rule is known for an address, the frame pointer is followed if it leads to executable
 * memory, else the stack ends there. Returns their number; 0: there is no rule for the instruction,
 * so nothing was gained. *cut: the stack continues below what was copied.
 */
uint32_t unwind(const struct unwind_space *s, const struct unwind_input *in,
		uint64_t out[UNWIND_FRAMES_MAX], bool *cut);

#endif
