/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The places of uprobes in an ELF file: symbols, and statically defined probes (USDT, the notes
 * that <sys/sdt.h> emits). The file may be hostile and may change while it is read: it is not
 * mapped, every number is checked, every table is bounded.
 */
#ifndef TRACER_PROBE_ELF_SYMBOL_H
#define TRACER_PROBE_ELF_SYMBOL_H

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
