/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places of uprobes in programs for arm of 32 bits. Linux probes their ARM instructions alone: of a
 * place in Thumb instructions it probes none at some addresses, and at the others a program that
 * comes there gets SIGILL. The symbol of a function says by the lowest bit of its value which ones
 * the function has.
 */
#include <elf.h>
#include <errno.h>

#include "tracer/base/probe/elf_file.h"
#include "tracer/base/probe/elf_symbol.h"

enum { UNKNOWN, ARM, THUMB };

bool elf_view_is_thumb(const struct elf_view *v, const struct elf_symbol *function)
{
	return v->machine == EM_ARM && function->value & 1;
}

/* What the function at this place of the file has, by one table of symbols. */
static int find_kind(const struct elf_table *t, uint64_t offset)
{
	struct elf_symbol s;

	for (uint64_t i = 0; i < t->count && elf_view_symbol(t->v, t->symbols, i, &s); i++) {
		int64_t at = elf_view_offset(t->v, s.value & ~UINT64_C(1), true);

		if (ELF64_ST_TYPE(s.info) == STT_FUNC && s.section != SHN_UNDEF && at >= 0 &&
		    offset - (uint64_t)at < s.size)
			return elf_view_is_thumb(t->v, &s) ? THUMB : ARM;
	}
	return UNKNOWN;
}

static int refuse_place(struct elf_view *v, uint64_t offset, struct tr_err *err)
{
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };
	int kind = offset & 1 ? THUMB : UNKNOWN, ret;
	struct elf_table t;

	for (int i = 0; i < 2 && kind == UNKNOWN; i++) {
		ret = elf_table_open(&t, v, types[i], err);
		if (ret == -ENOENT)
			continue;
		if (ret)
			return ret;
		kind = find_kind(&t, offset);
		elf_table_close(&t);
	}
	if (kind == THUMB)
		return tr_fail(err, -EOPNOTSUPP,
			       "the file has Thumb instructions there, which the kernel does not "
			       "probe");
	if (kind == UNKNOWN)
		return tr_fail(err, -EOPNOTSUPP,
			       "no symbol of a function says whether the file has ARM or Thumb "
			       "instructions there, and the kernel probes ARM ones alone");
	return 0;
}

int elfsym_refuse_thumb(int fd, uint64_t offset, struct tr_err *err)
{
	struct elf_view v;
	int ret = elf_view_open(&v, fd, err);

	if (ret)
		return ret;
	if (v.machine == EM_ARM)
		ret = refuse_place(&v, offset, err);
	elf_view_close(&v);
	return ret;
}
