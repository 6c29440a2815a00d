/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads ELF files: see probe/elf_file.h. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/base/probe/elf_file.h"

enum { SECTIONS_MAX = 65535, SEGMENTS_MAX = 1024 };

static bool read_all(int fd, void *out, size_t n, uint64_t at)
{
	char *p = out;

	while (n) {
		ssize_t got = at > INT64_MAX - n ? 0 : pread(fd, p, n, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		p += got;
		at += (size_t)got;
		n -= (size_t)got;
	}
	return true;
}

/* Converts a 32-bit header to the 64-bit form. */
static void widen_header(Elf64_Ehdr *to, const Elf32_Ehdr *from)
{
	memcpy(to->e_ident, from->e_ident, EI_NIDENT);
	to->e_type = from->e_type;
	to->e_machine = from->e_machine;
	to->e_phoff = from->e_phoff;
	to->e_shoff = from->e_shoff;
	to->e_phentsize = from->e_phentsize;
	to->e_phnum = from->e_phnum;
	to->e_shentsize = from->e_shentsize;
	to->e_shnum = from->e_shnum;
	to->e_shstrndx = from->e_shstrndx;
}

static bool read_section(const struct elf_view *v, const Elf64_Ehdr *e, uint32_t i,
			 struct elf_section *s)
{
	uint64_t at = e->e_shoff + (uint64_t)i * e->e_shentsize;
	Elf64_Shdr h;
	Elf32_Shdr h32;

	if (v->is64) {
		if (!read_all(v->fd, &h, sizeof(h), at))
			return false;
	} else {
		if (!read_all(v->fd, &h32, sizeof(h32), at))
			return false;
		h = (Elf64_Shdr){ .sh_name = h32.sh_name, .sh_type = h32.sh_type,
				  .sh_link = h32.sh_link, .sh_flags = h32.sh_flags,
				  .sh_addr = h32.sh_addr, .sh_offset = h32.sh_offset,
				  .sh_size = h32.sh_size };
	}
	*s = (struct elf_section){ h.sh_name, h.sh_type,   h.sh_link, h.sh_flags,
				   h.sh_addr, h.sh_offset, h.sh_size };
	return true;
}

static int read_sections(struct elf_view *v, const Elf64_Ehdr *e)
{
	uint32_t count = e->e_shnum, names = e->e_shstrndx;
	struct elf_section first;

	if (!e->e_shoff || e->e_shoff >= v->file_size ||
	    e->e_shentsize != (v->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)) ||
	    !read_section(v, e, 0, &first))
		return 0;
	if (!count)             /* the number does not fit into the header's 16 bits */
		count = first.size < SECTIONS_MAX ? (uint32_t)first.size : SECTIONS_MAX;
	if (names == SHN_XINDEX)
		names = first.link;
	v->sections = calloc(count ? count : 1, sizeof(*v->sections));
	if (!v->sections)
		return -ENOMEM;
	for (uint32_t i = 0; i < count && read_section(v, e, i, &v->sections[i]); i++) {
		struct elf_section *s = &v->sections[i];

		if (s->type == SHT_NOBITS || s->offset > v->file_size ||
		    s->size > v->file_size - s->offset)
			s->offset = s->size = 0;
		v->section_count = i + 1;
	}
	v->names = names;
	return 0;
}

static bool read_segment(const struct elf_view *v, const Elf64_Ehdr *e, uint32_t i, uint32_t *type,
			 struct elf_segment *s)
{
	uint64_t at = e->e_phoff + (uint64_t)i * e->e_phentsize;
	Elf64_Phdr h;
	Elf32_Phdr h32;

	if (v->is64) {
		if (!read_all(v->fd, &h, sizeof(h), at))
			return false;
	} else {
		if (!read_all(v->fd, &h32, sizeof(h32), at))
			return false;
		h = (Elf64_Phdr){ .p_type = h32.p_type, .p_flags = h32.p_flags,
				  .p_offset = h32.p_offset, .p_vaddr = h32.p_vaddr,
				  .p_filesz = h32.p_filesz };
	}
	*type = h.p_type;
	*s = (struct elf_segment){ h.p_flags, h.p_offset, h.p_vaddr, h.p_filesz };
	return true;
}

static int read_segments(struct elf_view *v, const Elf64_Ehdr *e)
{
	uint32_t count = e->e_phnum < SEGMENTS_MAX ? e->e_phnum : SEGMENTS_MAX;

	if (!count || e->e_phentsize != (v->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)))
		return 0;
	v->segments = calloc(count, sizeof(*v->segments));
	if (!v->segments)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		struct elf_segment *s = &v->segments[v->segment_count];
		uint32_t type;

		if (!read_segment(v, e, i, &type, s))
			break;
		if (type == PT_LOAD && s->offset <= v->file_size &&
		    s->size <= v->file_size - s->offset)
			v->segment_count++;
	}
	return 0;
}

static bool read_header(struct elf_view *v, Elf64_Ehdr *e)
{
	const uint16_t one = 1;
	Elf32_Ehdr e32;

	memset(e, 0, sizeof(*e));
	if (!read_all(v->fd, &e32, sizeof(e32), 0) || memcmp(e32.e_ident, ELFMAG, SELFMAG) ||
	    e32.e_ident[EI_DATA] != (*(const uint8_t *)&one ? ELFDATA2LSB : ELFDATA2MSB))
		return false;
	v->is64 = e32.e_ident[EI_CLASS] == ELFCLASS64;
	if (v->is64)
		return read_all(v->fd, e, sizeof(*e), 0);
	widen_header(e, &e32);
	return e32.e_ident[EI_CLASS] == ELFCLASS32;
}

int elf_view_open(struct elf_view *v, int fd, struct tr_err *err)
{
	Elf64_Ehdr e;
	struct stat st;
	int ret;

	memset(v, 0, offsetof(struct elf_view, window));
	v->fd = fd;
	if (fstat(fd, &st))
		return tr_fail(err, -errno, "cannot read the file's attributes: %s",
			       strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_size < 0)
		return tr_fail(err, -ENOEXEC, "this is not a regular file");
	v->file_size = (uint64_t)st.st_size;
	if (!read_header(v, &e) || (e.e_type != ET_EXEC && e.e_type != ET_DYN))
		return tr_fail(err, -ENOEXEC, "the file is no program or library of this machine "
			       "(ELF)");
	v->machine = e.e_machine;
	ret = read_sections(v, &e);
	if (!ret)
		ret = read_segments(v, &e);
	if (ret) {
		elf_view_close(v);
		return tr_fail(err, ret, "no memory for the file's tables");
	}
	return 0;
}

void elf_view_close(struct elf_view *v)
{
	free(v->sections);
	free(v->segments);
	v->sections = NULL;
	v->segments = NULL;
}

bool elf_view_read(const struct elf_view *v, const struct elf_section *s, uint64_t at, void *out,
		   size_t n)
{
	return at <= s->size && n <= s->size - at && read_all(v->fd, out, n, s->offset + at);
}

const struct elf_section *elf_view_section_of(const struct elf_view *v, uint32_t type)
{
	for (uint32_t i = 0; i < v->section_count; i++)
		if (v->sections[i].type == type)
			return &v->sections[i];
	return NULL;
}

const struct elf_section *elf_view_section(const struct elf_view *v, const char *name)
{
	size_t n = strlen(name) + 1;
	char text[64];

	if (v->names >= v->section_count || n > sizeof(text))
		return NULL;
	for (uint32_t i = 0; i < v->section_count; i++)
		if (elf_view_read(v, &v->sections[v->names], v->sections[i].name, text, n) &&
		    !memcmp(text, name, n))
			return &v->sections[i];
	return NULL;
}

static uint64_t elf_view_symbol_size(const struct elf_view *v)
{
	return v->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
}

/* Reads symbols through a window: one system call per symbol would take seconds. */
bool elf_view_symbol(struct elf_view *v, const struct elf_section *table, uint64_t index,
		     struct elf_symbol *out)
{
	uint64_t size = elf_view_symbol_size(v), at = table->offset + index * size, left;
	const uint8_t *p;
	Elf64_Sym s;

	if (index >= table->size / size)
		return false;
	if (at < v->window_at || at + size > v->window_at + v->window_len) {
		left = table->size - index * size;
		v->window_at = at;
		v->window_len = left < sizeof(v->window) ? (size_t)left : sizeof(v->window);
		if (!read_all(v->fd, v->window, v->window_len, at)) {
			v->window_len = 0;
			return false;
		}
	}
	p = v->window + (at - v->window_at);
	if (v->is64) {
		memcpy(&s, p, sizeof(s));
	} else {
		Elf32_Sym s32;

		memcpy(&s32, p, sizeof(s32));
		s = (Elf64_Sym){ .st_name = s32.st_name, .st_shndx = s32.st_shndx,
				 .st_info = s32.st_info, .st_value = s32.st_value,
				 .st_size = s32.st_size };
	}
	*out = (struct elf_symbol){ s.st_name, s.st_shndx, s.st_info, s.st_value, s.st_size };
	return true;
}

int64_t elf_view_offset(const struct elf_view *v, uint64_t address, bool executed)
{
	for (uint32_t i = 0; i < v->segment_count; i++) {
		const struct elf_segment *s = &v->segments[i];

		if ((!executed || (s->flags & PF_X)) && address >= s->address &&
		    address - s->address < s->size)
			return (int64_t)(s->offset + (address - s->address));
	}
	return -1;
}

/* ---- tables of symbols ---- */

int elf_table_open(struct elf_table *t, struct elf_view *v, uint32_t type, struct tr_err *err)
{
	static const uint64_t names_max = 128u << 20, symbols_max = 8u << 20;
	const struct elf_section *names;

	*t = (struct elf_table){ .v = v, .symbols = elf_view_section_of(v, type) };
	names = t->symbols && t->symbols->link < v->section_count ? &v->sections[t->symbols->link]
								  : NULL;
	if (!names || names->type != SHT_STRTAB || !names->size)
		return -ENOENT;
	if (names->size > names_max)
		return tr_fail(err, -EFBIG, "the file's table of names has more than %u MiB",
			       (unsigned int)(names_max >> 20));
	t->names = malloc(names->size);
	if (!t->names)
		return tr_fail(err, -ENOMEM, "no memory for the file's names");
	if (!elf_view_read(v, names, 0, t->names, names->size)) {
		elf_table_close(t);
		return -ENOENT;
	}
	t->names_size = names->size;
	t->names[names->size - 1] = '\0';
	t->count = t->symbols->size / elf_view_symbol_size(v);
	t->count = t->count < symbols_max ? t->count : symbols_max;
	return 0;
}

void elf_table_close(struct elf_table *t)
{
	free(t->names);
	t->names = NULL;
}

const char *elf_table_name(const struct elf_table *t, uint64_t at)
{
	return at < t->names_size ? t->names + at : "";
}
