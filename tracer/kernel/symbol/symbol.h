/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracer/kernel/symbol/: names of the functions that code addresses of a trace are in.
 *
 *	symbol.h    (this file) the processes of a trace: what they map, and where an address is
 *	symbols.c   … the mappings, and the search
 *	live.c      … what processes map that still run, and the functions of their JIT compilers
 *	code_map.c  what a process maps (code_map.h): the one reader of /proc/PID/maps
 *	function.c  a table of functions (function.h)
 *	object.c    the functions of one ELF file (object.h)
 *
 * Mappings come from the trace, or from /proc while the process runs. Files are opened with the
 * rights of the session's owner. They may be hostile, so they are not mapped, not executed, and
 * read with limits; a library that parses DWARF too would be a far larger target, and names of
 * functions do not need DWARF. A file whose build id is not that of the trace is not used.
 *
 * An address that was looked up has the same name for the life of a struct symbols, unless
 * symbols_add() adds a mapping from an earlier time on.
 *
 * Locks: none here. A struct symbols belongs to its caller, who serializes the calls. Calls read
 * files: the caller holds no lock that others wait for.
 */
#ifndef TRACER_SYMBOL_SYMBOL_H
#define TRACER_SYMBOL_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tracer/base/os/cred.h"

#define SYMBOL_ID_MAX 64        /* bytes of a build id */

struct symbols;

/* Where an address is. The strings live as long as struct symbols. */
struct symbol {
	const char *name;       /* of the function, mangled; NULL: not known */
	const char *object;     /* file name without directories, or [kernel]; NULL: not known */
	uint64_t offset;        /* from the function, or without one from the start of the object */
};

struct symbol_mapping {
	int32_t pid;
	uint64_t from;          /* ns since the epoch: it exists at the latest from this time on */
	uint64_t start, size;   /* addresses */
	int64_t offset;         /* of `start` in the file; -1: the file's first segment is there */
	const char *path;       /* path_len bytes */
	size_t path_len;
	const uint8_t *id;      /* build id, id_size bytes; 0: not known */
	size_t id_size;
};

/*
 * owner: of the session. here: the trace was recorded by this machine; then the system is asked
 * about addresses since its boot. NULL: no memory.
 */
struct symbols *symbols_create(const struct owner *owner, bool here);
void symbols_free(struct symbols *s);   /* NULL is allowed */

/* Adds a mapping; copies its strings. Beyond the limits, or if memory is short, it does nothing. */
void symbols_add(struct symbols *s, const struct symbol_mapping *m);
/* Sets the build id of the last mapping of the process that begins at `start`. */
void symbols_set_id(struct symbols *s, int32_t pid, uint64_t start, const uint8_t *id, size_t size);
/*
 * The mappings up to now were collected before the first search: the earliest ones also serve
 * addresses that the process had before it recorded them. Later ones do not.
 */
void symbols_settle(struct symbols *s);

/*
 * Looks up an address of a process (pid <= 0: not known) at a time. returns: it is a return
 * address, so the call is before it. *out is all NULL and 0 if nothing is known.
 */
void symbols_find(struct symbols *s, int32_t pid, uint64_t time, uint64_t address, bool returns,
		  struct symbol *out);
/* The same for the kernel, if the session's owner may see its addresses. */
void symbols_find_kernel(struct symbols *s, uint64_t time, uint64_t address, bool returns,
			 struct symbol *out);

/* Reads the build id of an ELF file (SYMBOL_ID_MAX bytes). Returns its size; 0: it has none. */
size_t symbol_build_id(int fd, uint8_t *id);

#endif
