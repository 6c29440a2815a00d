/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where in an ELF file a uprobe goes: symbols and statically defined probes (USDT, the notes that <sys/sdt.h> makes). The file may be
 * made up and may change while it is read: it is never mapped, every number is checked, every table bounded.
 */
#ifndef TRACER_PROBE_ELF_SYMBOL_H
#define TRACER_PROBE_ELF_SYMBOL_H

#include <stddef.h>
#include <stdint.h>

#include "tracer/base/err.h"

/*
 * SYMBOL[+OFF], SYMBOL@VERSION[+OFF], or 0xADDRESS as nm(1) shows it, to the offset in the file that a uprobe wants. Without a version
 * the default one is taken. -ENOEXEC: no ELF file of this machine's byte order; -ENOENT: no such function (with the nearest
 * name, or that the file is stripped); -ENOTUNIQ: several local ones; -EOPNOTSUPP: chosen at run time (IFUNC); -EINVAL: OFF is behind its end, or
 * not in what is executed; -EFBIG: tables too large; -EIO, -ENOMEM.
 */
int elfsym_resolve(int fd, const char *symbol, uint64_t *offset, struct tr_err *err);

struct elfsym_probe {           /* one place of a USDT probe: inlined ones have several under the same name */
	char *provider, *name;
	char *args;             /* `-4@%edi 8@-8(%rbp)`, as the assembler was told; "": none */
	uint64_t offset;        /* of the instruction, in the file */
	uint64_t semaphore;     /* of the 16-bit counter of listeners, in the file; 0: has none */
};

struct elfsym_probes {
	struct elfsym_probe *probes;    /* owned, with their strings */
	size_t count;
	size_t bad;             /* notes that make no sense, left out */
};

/* All of them, in the file's order. A file without any: 0 and count 0. Errors as above; nothing is held then. */
int elfsym_probes(int fd, struct elfsym_probes *out, struct tr_err *err);
void elfsym_probes_deinit(struct elfsym_probes *p);

#endif
