/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An ELF file that processes map, and its functions. Private to symbol/. */
#ifndef TRACER_SYMBOL_OBJECT_H
#define TRACER_SYMBOL_OBJECT_H

#include "tracer/base/probe/elf_file.h"
#include "tracer/kernel/symbol/code_map.h"
#include "tracer/kernel/symbol/function.h"
#include "tracer/kernel/symbol/symbol.h"

struct code_object {
	char *path;             /* owned */
	const char *shown;      /* its last component */
	uint64_t hash;          /* of path and id */
	uint8_t id[SYMBOL_ID_MAX];      /* of the trace; id_size 0: not known */
	uint8_t id_size;
	bool loaded;            /* the rest is known; without a file it is empty */
	struct elf_segment *segments;   /* owned */
	uint32_t segment_count;
	struct functions functions;
};

/*
 * Reads the functions of the file: of .symtab, else of the .symtab of a file with its debug
 * information (by build id below /usr/lib/debug, or by its .gnu_debuglink), else of .dynsym. Files
 * are opened with the rights of `owner`. here: see symbols_create.
 */
void object_load(struct code_object *o, const struct owner *owner, bool here);
/* The address in terms of the file, of one in a mapping; see symbol_mapping for `offset`. */
uint64_t object_address(const struct code_object *o, uint64_t distance, int64_t offset);
void object_free(struct code_object *o);

#endif
