// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ustlib/preload/elf.h"

#define PHDRS 16                /* program headers read at a time */
#define NOTES 1024              /* bytes of a file's segment of notes that are looked at */
#define DEBUG_LINK ".gnu_debuglink"

/* ---- notes and segments ---- */

bool elf_build_id(struct elf_id *id, const void *notes, size_t size, size_t align)
{
	const uint8_t *p = notes;

	align = align == 8 ? 8 : 4;
	while (size >= sizeof(ElfW(Nhdr))) {
		ElfW(Nhdr) n;
		uint64_t desc, next;

		memcpy(&n, p, sizeof(n));
		/* 64 bits: the sums of 32 bit numbers do not wrap. */
		desc = (sizeof(n) + (uint64_t)n.n_namesz + align - 1) & ~(uint64_t)(align - 1);
		if (desc + n.n_descsz > size)
			return false;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    !memcmp(p + sizeof(n), "GNU", 4) && n.n_descsz > 0 &&
		    n.n_descsz <= ELF_BUILD_ID_MAX) {
			memcpy(id->build_id, p + desc, n.n_descsz);
			id->build_id_size = n.n_descsz;
			return true;
		}
		next = (desc + n.n_descsz + align - 1) & ~(uint64_t)(align - 1);
		if (next > size)
			return false;
		p += next;
		size -= next;
	}
	return false;
}

/* The span of the segments seen so far. */
struct span {
	uint64_t low, high;
};

static const struct span no_span = { UINT64_MAX, 0 };

static void span_add(struct span *s, const ElfW(Phdr) *h)
{
	uint64_t end;

	if (h->p_type != PT_LOAD ||
	    __builtin_add_overflow((uint64_t)h->p_vaddr, (uint64_t)h->p_memsz, &end))
		return;
	if (h->p_vaddr < s->low)
		s->low = h->p_vaddr;
	if (end > s->high)
		s->high = end;
}

static uint64_t span_size(const struct span *s)
{
	return s->high > s->low ? s->high - s->low : 0;
}

/* The segment lies in the part of a readable one that was mapped from the file. */
static bool readable(const struct dl_phdr_info *info, const ElfW(Phdr) *h)
{
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *load = &info->dlpi_phdr[i];

		if (load->p_type == PT_LOAD && load->p_flags & PF_R &&
		    h->p_vaddr >= load->p_vaddr && h->p_vaddr - load->p_vaddr <= load->p_filesz &&
		    h->p_filesz <= load->p_filesz - (h->p_vaddr - load->p_vaddr))
			return true;
	}
	return false;
}

bool elf_loaded(struct elf_id *id, uintptr_t *base, const struct dl_phdr_info *info)
{
	struct span span = no_span;
	bool found = false, any = false;

	*id = (struct elf_id){ 0 };
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];

		if (h->p_type == PT_LOAD && !any) {
			*base = info->dlpi_addr + h->p_vaddr;
			any = true;
		}
		span_add(&span, h);
		if (h->p_type == PT_NOTE && !found && readable(info, h))
			found = elf_build_id(id, (const void *)(info->dlpi_addr + h->p_vaddr),
					     h->p_filesz, h->p_align);
	}
	id->memsz = span_size(&span);
	return any;
}

/* ---- files ---- */

static bool read_at(int fd, void *to, size_t size, uint64_t at)
{
	return at <= INT64_MAX - size && pread(fd, to, size, (off_t)at) == (ssize_t)size;
}

static void file_notes(struct elf_id *id, int fd, const ElfW(Phdr) *h)
{
	uint8_t notes[NOTES];
	size_t size = h->p_filesz < NOTES ? h->p_filesz : NOTES;

	if (!id->build_id_size && read_at(fd, notes, size, h->p_offset))
		elf_build_id(id, notes, size, h->p_align);
}

/* Such a place is in no file. */
static bool is_far(uint64_t at)
{
	return at > INT64_MAX / 2;
}

static void file_segments(struct elf_id *id, int fd, const ElfW(Ehdr) *e)
{
	struct span span = no_span;
	ElfW(Phdr) h[PHDRS];

	if (e->e_phentsize != sizeof(h[0]) || e->e_phnum == PN_XNUM)
		return;
	for (unsigned int i = 0; i < e->e_phnum; i += PHDRS) {
		unsigned int n = e->e_phnum - i < PHDRS ? e->e_phnum - i : PHDRS;

		if (is_far(e->e_phoff) ||
		    !read_at(fd, h, n * sizeof(h[0]), e->e_phoff + i * sizeof(h[0])))
			return;
		for (unsigned int j = 0; j < n; j++) {
			span_add(&span, &h[j]);
			if (h[j].p_type == PT_NOTE)
				file_notes(id, fd, &h[j]);
		}
	}
	id->memsz = span_size(&span);
}

/* A file's name, its NUL, up to three bytes of padding, and the checksum. */
static bool take_link(struct elf_file *f, int fd, const ElfW(Shdr) *s)
{
	char bytes[ELF_LINK_MAX + 8];
	size_t size = s->sh_size < sizeof(bytes) ? s->sh_size : sizeof(bytes), length, at;

	if (!read_at(fd, bytes, size, s->sh_offset))
		return false;
	length = strnlen(bytes, size);
	at = (length + 4) & ~(size_t)3;
	if (!length || length >= ELF_LINK_MAX || at + 4 > size)
		return false;
	memcpy(f->debug_link, bytes, length + 1);
	memcpy(&f->crc, bytes + at, 4);
	return true;
}

static void file_link(struct elf_file *f, int fd, const ElfW(Ehdr) *e)
{
	char name[sizeof(DEBUG_LINK)];
	ElfW(Shdr) names, s;

	if (e->e_shentsize != sizeof(s) || e->e_shstrndx >= e->e_shnum ||
	    is_far(e->e_shoff) ||
	    !read_at(fd, &names, sizeof(names), e->e_shoff + e->e_shstrndx * sizeof(s)) ||
	    is_far(names.sh_offset))
		return;
	/* From the end: it is a late one. */
	for (unsigned int i = e->e_shnum; i-- > 0;) {
		if (!read_at(fd, &s, sizeof(s), e->e_shoff + i * sizeof(s)))
			return;
		if (s.sh_type == SHT_PROGBITS && !(s.sh_flags & SHF_ALLOC) &&
		    s.sh_name < names.sh_size &&
		    read_at(fd, name, sizeof(name), names.sh_offset + s.sh_name) &&
		    !memcmp(name, DEBUG_LINK, sizeof(name)) && take_link(f, fd, &s))
			return;
	}
}

bool elf_file(struct elf_file *f, const char *path)
{
	/* Not to wait, nor to be given a terminal, if it has become something else than a file. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), saved = errno;
	const uint16_t one = 1;
	ElfW(Ehdr) e;
	struct stat st;
	bool ok;

	memset(f, 0, sizeof(*f));
	if (fd < 0)
		return false;
	ok = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && read_at(fd, &e, sizeof(e), 0) &&
	     !memcmp(e.e_ident, ELFMAG, SELFMAG) &&
	     e.e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) &&
	     e.e_ident[EI_DATA] == (*(const uint8_t *)&one ? ELFDATA2LSB : ELFDATA2MSB);
	if (ok) {
		f->is_pic = e.e_type == ET_DYN;
		file_segments(&f->id, fd, &e);
		file_link(f, fd, &e);
	}
	close(fd);
	errno = saved;
	return ok;
}
