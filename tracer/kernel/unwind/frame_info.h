/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the section .eh_frame. Private to unwind/. */
#ifndef TRACER_UNWIND_FRAME_INFO_H
#define TRACER_UNWIND_FRAME_INFO_H

#include "tracer/kernel/unwind/table.h"

/*
 * Adds the rules of a section, which the file has at this address, to an empty table. Entries that
 * cannot be understood give no rules. False: out of memory, or there are too many.
 */
bool frame_info_read(struct unwind_table *t, const uint8_t *section, size_t size, uint64_t address);

#endif
