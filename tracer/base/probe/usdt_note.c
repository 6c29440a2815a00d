/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * USDT probes: the notes in .note.stapsdt. Each has three addresses, of the place, of .stapsdt.base
 * at link time, and of the semaphore, then three strings. prelink may have moved the file's
 * sections: the difference to the present address of .stapsdt.base is added.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/base/probe/elf_symbol.h"
#include "tracer/base/probe/elf_file.h"

enum { NOTES_MAX = 16 << 20, PROBES_MAX = 65536, NT_STAPSDT = 3 };

void elfsym_probes_deinit(struct elfsym_probes *p)
{
	for (size_t i = 0; i < p->count; i++) {
		free(p->probes[i].provider);
		free(p->probes[i].name);
		free(p->probes[i].args);
	}
	free(p->probes);
	memset(p, 0, sizeof(*p));
}

static const uint8_t *take_string(const uint8_t *p, const uint8_t *end, const char **out)
{
	const uint8_t *nul = p ? memchr(p, 0, (size_t)(end - p)) : NULL;

	*out = (const char *)p;
	return nul ? nul + 1 : NULL;
}

static uint64_t read_address(const struct elf_view *v, const uint8_t *p, int i)
{
	uint64_t wide;
	uint32_t narrow;

	if (v->is64) {
		memcpy(&wide, p + 8 * i, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, p + 4 * i, sizeof(narrow));
	return narrow;
}

/* Adds a probe; false: the note is not valid. *ret: -ENOMEM. */
static bool add_probe(const struct elf_view *v, const struct elf_section *base, const uint8_t *p,
		       size_t size, struct elfsym_probes *out, int *ret)
{
	size_t word = v->is64 ? 8 : 4;
	const char *provider, *name, *args;
	struct elfsym_probe *probe;
	uint64_t move, semaphore;
	int64_t at, semaphore_at = 0;
	const uint8_t *rest;

	if (size < 3 * word)
		return false;
	rest = take_string(p + 3 * word, p + size, &provider);
	rest = take_string(rest, p + size, &name);
	if (!take_string(rest, p + size, &args) || !*provider || !*name)
		return false;
	move = base ? base->address - read_address(v, p, 1) : 0;
	at = elf_view_offset(v, read_address(v, p, 0) + move, true);
	semaphore = read_address(v, p, 2);
	if (semaphore)
		semaphore_at = elf_view_offset(v, semaphore + move, false);
	if (at < 0 || semaphore_at < 0)
		return false;
	if (!array_double(out->probes, out->count)) {
		*ret = -ENOMEM;
		return true;
	}
	probe = &out->probes[out->count++];
	*probe = (struct elfsym_probe){ strdup(provider), strdup(name), strdup(args), (uint64_t)at,
					(uint64_t)semaphore_at };
	if (!probe->provider || !probe->name || !probe->args)
		*ret = -ENOMEM;
	return true;
}

static int read_notes(const struct elf_view *v, const uint8_t *p, size_t size,
		      struct elfsym_probes *out)
{
	const struct elf_section *base = elf_view_section(v, ".stapsdt.base");
	static const char owner[] = "stapsdt";
	int ret = 0;

	while (size >= sizeof(Elf64_Nhdr) && out->count < PROBES_MAX && !ret) {
		Elf64_Nhdr h;
		uint64_t name, desc;

		memcpy(&h, p, sizeof(h));
		name = ((uint64_t)h.n_namesz + 3) & ~3ull;
		desc = ((uint64_t)h.n_descsz + 3) & ~3ull;
		if (name > size - sizeof(h) || h.n_descsz > size - sizeof(h) - name) {
			out->bad++;
			break;
		}
		if (h.n_type == NT_STAPSDT && h.n_namesz == sizeof(owner) &&
		    !memcmp(p + sizeof(h), owner, sizeof(owner)) &&
		    !add_probe(v, base, p + sizeof(h) + name, h.n_descsz, out, &ret))
			out->bad++;
		if (sizeof(h) + name + desc >= size)
			break;
		p += sizeof(h) + name + desc;
		size -= sizeof(h) + name + desc;
	}
	return ret;
}

int elfsym_probes(int fd, struct elfsym_probes *out, struct tr_err *err)
{
	const struct elf_section *notes;
	struct elf_view v;
	uint8_t *data;
	int ret;

	memset(out, 0, sizeof(*out));
	ret = elf_view_open(&v, fd, err);
	if (ret)
		return ret;
	notes = elf_view_section(&v, ".note.stapsdt");
	if (notes && notes->size > NOTES_MAX)
		ret = tr_fail(err, -EFBIG, "the file's notes on probes have more than %d MiB",
			      NOTES_MAX >> 20);
	if (ret || !notes || notes->type != SHT_NOTE || !notes->size)
		goto close;
	data = malloc(notes->size);
	if (!data)
		ret = tr_fail(err, -ENOMEM, "no memory for the file's notes");
	else if (!elf_view_read(&v, notes, 0, data, notes->size))
		ret = tr_fail(err, -EIO, "cannot read the file's notes");
	else if (read_notes(&v, data, notes->size, out))
		ret = tr_fail(err, -ENOMEM, "no memory for the file's probes");
	free(data);
	if (ret)
		elfsym_probes_deinit(out);
close:
	elf_view_close(&v);
	return ret;
}
