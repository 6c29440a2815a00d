/* SPDX-License-Identifier: MIT */
/*
 * The facts of an executable or library: of the one that is loaded, and of a file. Both may
 * be made up: whatever does not fit is left out. No malloc; only async-signal-safe calls.
 */
#ifndef USTLIB_PRELOAD_ELF_H
#define USTLIB_PRELOAD_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_BUILD_ID_MAX 64
#define ELF_LINK_MAX 256

struct elf_id {
	/* from the first byte of its segments to the end of the last; 0: has none */
	uint64_t memsz;
	uint32_t build_id_size;         /* 0: has none */
	uint8_t build_id[ELF_BUILD_ID_MAX];
};

struct elf_file {
	struct elf_id id;
	bool is_pic;
	uint32_t crc;                   /* of the file that debug_link names */
	char debug_link[ELF_LINK_MAX];  /* "": has none */
};

/* Takes the build id from a segment of notes; false if there is none. */
bool elf_build_id(struct elf_id *id, const void *notes, size_t size, size_t align);
/*
 * Of a loaded object: it must stay loaded meanwhile. False if there is no segment; else *base is
 * where the first one is.
 */
bool elf_loaded(struct elf_id *id, uintptr_t *base, const struct dl_phdr_info *info);
/* False if that is no ELF file of this machine's kind. */
bool elf_file(struct elf_file *f, const char *path);

#endif
