/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF file, read with pread, in one form for 32 and 64 bits. The file may be hostile: offsets
 * and sizes are cut to the file, tables are bounded.
 */
#ifndef TRACER_PROBE_ELF_FILE_H
#define TRACER_PROBE_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/base/err.h"

struct elf_section {
	uint32_t name, type, link;
	uint64_t flags, address, offset, size;  /* offset and size: inside the file (0, 0 if not) */
};

struct elf_segment {                    /* PT_LOAD */
	uint32_t flags;
	uint64_t offset, address, size;         /* size: in the file */
};

struct elf_symbol {
	uint32_t name;
	uint16_t section;
	uint8_t info;
	uint64_t value, size;
};

struct elf_view {
	int fd;
	bool is64;
	uint16_t machine;                       /* EM_… */
	uint64_t file_size;
	struct elf_section *sections;           /* owned */
	uint32_t section_count, names;  /* names: index of the section of names; or out of range */
	struct elf_segment *segments;           /* owned */
	uint32_t segment_count;
	/* A window over the symbol table that is being read. */
	uint64_t window_at;
	size_t window_len;
	uint8_t window[65536];
};

/* The caller keeps fd. -ENOEXEC, -EIO, -ENOMEM with a sentence. */
int elf_view_open(struct elf_view *v, int fd, struct tr_err *err);
void elf_view_close(struct elf_view *v);

/* Reads n bytes of a section from `at` on. False: they are not in it, or cannot be read. */
bool elf_view_read(const struct elf_view *v, const struct elf_section *s, uint64_t at, void *out,
		   size_t n);
/* The first section of a type, or of a name; NULL: none. */
const struct elf_section *elf_view_section_of(const struct elf_view *v, uint32_t type);
const struct elf_section *elf_view_section(const struct elf_view *v, const char *name);
bool elf_view_symbol(struct elf_view *v, const struct elf_section *table, uint64_t index,
		     struct elf_symbol *out);
/* Whether it is a function of Thumb instructions: see elf_thumb.c. */
bool elf_view_is_thumb(const struct elf_view *v, const struct elf_symbol *function);
/* The file offset of an address; -1: no segment (executed: no executable one) contains it. */
int64_t elf_view_offset(const struct elf_view *v, uint64_t address, bool executed);

struct elf_table {                      /* a table of symbols, with their names */
	struct elf_view *v;
	const struct elf_section *symbols;
	uint64_t count;
	char *names;                            /* owned; ends with a NUL */
	uint64_t names_size;
};

/* Of SHT_SYMTAB or SHT_DYNSYM. -ENOENT: the file has none; -EFBIG, -ENOMEM with a sentence. */
int elf_table_open(struct elf_table *t, struct elf_view *v, uint32_t type, struct tr_err *err);
void elf_table_close(struct elf_table *t);
/*
 * The name at a place of the names. It may be as long as all of them, so callers must not take its
 * length for every symbol.
 */
const char *elf_table_name(const struct elf_table *t, uint64_t at);

#endif
