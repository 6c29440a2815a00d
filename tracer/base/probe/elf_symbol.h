/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The places of uprobes in an ELF file: symbols, and statically defined probes (USDT, the notes
 * that <sys/sdt.h> emits). The file may be hostile and may change while it is read: it is not
 * mapped, every number is checked, every table is bounded.
 */
#ifndef TRACER_PROBE_ELF_SYMBOL_H
#define TRACER_PROBE_ELF_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/base/err.h"

/*
 * The file offset for a uprobe of SYMBOL[+OFF], SYMBOL@VERSION[+OFF], or 0xADDRESS as nm(1) prints
 * it. Without a version it takes the default one. -ENOEXEC: not an ELF file of this machine's byte
 * order; -ENOENT: no such function (the sentence has the nearest name, or says that the file is
 * stripped); -ENOTUNIQ: several local ones; -EOPNOTSUPP: selected at run time (IFUNC); -EINVAL: OFF
 * is beyond its end, or not executable; -EFBIG: tables too large; -EIO, -ENOMEM.
 */
int elfsym_resolve(int fd, const char *symbol, uint64_t *offset, struct tr_err *err);

/*
 * Whether a uprobe may be at this place of the file. -EOPNOTSUPP, of a file for arm of 32 bits: it
 * has Thumb instructions there, or may have them. Other errors as above.
 */
int elfsym_refuse_thumb(int fd, uint64_t offset, struct tr_err *err);

struct elfsym_function {
	char *name;             /* without a version */
	uint64_t offset, address;       /* in the file; as nm(1) prints it */
	bool shared;            /* other functions in the list have the name */
};

struct elfsym_functions {
	struct elfsym_function *list;   /* owned, with the names; by name, then by address */
	size_t count;
};

/*
 * The functions whose names match the pattern (glob_match), of .symtab, else of those that the file
 * exports. Functions without a size, those selected at run time, those of Thumb instructions
 * (-EOPNOTSUPP if there are no others), and names that no rule can have are left out; of several
 * names of one place it has the one with the fewest leading underscores. returns: leaves out
 * functions that need their own return address, such as setjmp; -EINVAL: the file's programs walk
 * the stack, as exceptions do. -E2BIG: more than max; other errors as above. On errors out is
 * empty.
 */
int elfsym_functions(int fd, const char *pattern, bool returns, size_t max,
		     struct elfsym_functions *out, struct tr_err *err);
void elfsym_functions_deinit(struct elfsym_functions *f);

struct elfsym_probe {           /* one place of a usdt probe; inlined ones have several places */
	char *provider, *name;
	char *args;             /* `-4@%edi 8@-8(%rbp)`, in assembler syntax; "": none */
	uint64_t offset;        /* of the instruction, in the file */
	uint64_t semaphore;     /* file offset of the 16-bit counter of listeners; 0: none */
};

struct elfsym_probes {
	struct elfsym_probe *probes;    /* owned, with their strings */
	size_t count;
	size_t bad;             /* invalid notes, left out */
};

/*
 * All probes, in the order of the file. A file without probes: 0 and count 0. Errors as above; then
 * out is empty.
 */
int elfsym_probes(int fd, struct elfsym_probes *out, struct tr_err *err);
void elfsym_probes_deinit(struct elfsym_probes *p);

#endif
