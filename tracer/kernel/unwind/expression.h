/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DWARF expressions (DWARF 4, section 2.5) as rules of frames have them. Private to unwind/. */
#ifndef TRACER_UNWIND_EXPRESSION_H
#define TRACER_UNWIND_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/kernel/unwind/unwind.h"

/* Eight bytes at an address. False: they are not in the copy; then *cut if they are below it. */
bool unwind_load(const struct unwind_input *in, uint64_t address, uint64_t *out, bool *cut);

/*
 * Computes an expression with the registers of a frame. pushed: the value that it begins with;
 * NULL: none. False: it needs what is not known, or is wrong.
 */
bool expression_run(const uint8_t *bytes, size_t size, const struct unwind_input *in,
		    const uint64_t *pushed, uint64_t *out, bool *cut);

#endif
