/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/* What is read of executables and libraries that were made up. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "ustlib/preload/elf.c"

#define PAGE 4096
#define OWN_DATA (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? ELFDATA2MSB : ELFDATA2LSB)
/* Four bytes of memory, the first one last */
#define BYTES(d, c, b, a) \
	(__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? a##u << 24 | b << 16 | c << 8 | d \
						: d##u << 24 | c << 16 | b << 8 | a)

/* A copy that ends where nothing may be read any more. */
static uint8_t *at_edge(const void *data, size_t size)
{
	static uint8_t *pages;

	if (!pages) {
		pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);
		if (pages == MAP_FAILED || mprotect(pages + PAGE, PAGE, PROT_NONE))
			abort();
	}
	return memcpy(pages + PAGE - size, data, size);
}

static const uint32_t good[] = { 4,        4,          1,         0x20554e47,
				 7,        4,          8,         NT_GNU_BUILD_ID,
				 BYTES(0, 0x55, 0x4e, 0x47),
				 BYTES(3, 2, 1, 0), BYTES(7, 6, 5, 4) };

static void notes(void)
{
	struct elf_id id = { 0 };
	uint32_t bad[11];

	CHECK(elf_build_id(&id, at_edge(good, sizeof(good)), sizeof(good), 4));
	CHECK(id.build_id_size == 8 && id.build_id[7] == 7);
	for (size_t n = 0; n < sizeof(good); n++)
		CHECK(!elf_build_id(&id, at_edge(good, n), n, 4));
	/* Every number in it, far too large. */
	for (size_t i = 0; i < 8; i++)
		for (uint32_t v = 0; v < 5; v++) {
			static const uint32_t values[] = { 0xffffffff, 0xfffffff0, 0x80000000, 65,
							   0 };

			memcpy(bad, good, sizeof(bad));
			bad[i] = values[v];
			memset(&id, 0, sizeof(id));
			elf_build_id(&id, at_edge(bad, sizeof(bad)), sizeof(bad), 4);
			CHECK(id.build_id_size <= 8);
		}
}

static void loaded(void)
{
	ElfW(Phdr) h[2] = {
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R,
		  .p_vaddr = 0,
		  .p_filesz = sizeof(good),
		  .p_memsz = sizeof(good) + 100 },
		{ .p_type = PT_NOTE,
		  .p_flags = PF_R,
		  .p_vaddr = 0,
		  .p_filesz = sizeof(good),
		  .p_align = 4 },
	};
	struct dl_phdr_info info = { .dlpi_phdr = h, .dlpi_phnum = 2 };
	struct elf_id id;
	uintptr_t base;

	info.dlpi_addr = (uintptr_t)at_edge(good, sizeof(good));
	CHECK(elf_loaded(&id, &base, &info) && base == info.dlpi_addr &&
	      id.memsz == sizeof(good) + 100 && id.build_id_size == 8);
	/* Notes outside of the file are not read. */
	h[1].p_vaddr = PAGE;
	CHECK(elf_loaded(&id, &base, &info) && !id.build_id_size);
	h[1].p_vaddr = 8;
	CHECK(elf_loaded(&id, &base, &info) && !id.build_id_size);
	h[1].p_vaddr = (ElfW(Addr))-8;
	CHECK(elf_loaded(&id, &base, &info) && !id.build_id_size);
	h[1].p_vaddr = 0;
	h[1].p_filesz = (size_t)-1;
	CHECK(elf_loaded(&id, &base, &info) && !id.build_id_size);
	h[0].p_flags = 0;
	h[1].p_filesz = sizeof(good);
	CHECK(elf_loaded(&id, &base, &info) && !id.build_id_size);
	h[0].p_memsz = (size_t)-1;
	h[0].p_vaddr = PAGE;
	/* (An end after the last address of 64 bits) */
	CHECK(elf_loaded(&id, &base, &info) && (id.memsz == 0 || sizeof(void *) == 4));
	info.dlpi_phnum = 0;
	CHECK(!elf_loaded(&id, &base, &info));
}

static bool file_of(struct elf_file *f, const void *data, size_t size)
{
	char path[] = "/tmp/test_elf.XXXXXX";
	int fd = mkstemp(path);
	bool ok = fd >= 0 && write(fd, data, size) == (ssize_t)size && elf_file(f, path);

	if (fd >= 0)
		close(fd);
	unlink(path);
	return ok;
}

/* This program, cut off and with bytes changed: no crash, and texts end. */
static void files(void)
{
	static uint8_t all[1 << 20];
	int fd = open("/proc/self/exe", O_RDONLY);
	size_t size = 0;
	struct elf_file f;
	ssize_t n;
	unsigned int seed = 1;

	while ((n = read(fd, all + size, sizeof(all) - size)) > 0)
		size += (size_t)n;
	close(fd);
	CHECK(file_of(&f, all, size) && f.is_pic && f.id.memsz > 0);
	CHECK(!elf_file(&f, "/dev/null") && !elf_file(&f, "/") && !elf_file(&f, "/does/not/exist"));
	CHECK(!file_of(&f, all, sizeof(ElfW(Ehdr)) - 1) && !file_of(&f, "", 0));
	for (int i = 0; i < 400; i++) {
		size_t cut = i % 2 ? size : (size_t)rand_r(&seed) % size;
		uint8_t saved[64 + 13 * sizeof(ElfW(Phdr))], tail[2048];
		size_t at = size - sizeof(tail);

		memcpy(saved, all, sizeof(saved));
		memcpy(tail, all + at, sizeof(tail));
		for (int j = 0; j < 4; j++)
			all[16 + (size_t)rand_r(&seed) % (sizeof(saved) - 16)] =
				(uint8_t)rand_r(&seed);
		for (int j = 0; j < 8; j++)
			all[at + (size_t)rand_r(&seed) % sizeof(tail)] = (uint8_t)rand_r(&seed);
		file_of(&f, all, cut);
		CHECK(f.id.build_id_size <= ELF_BUILD_ID_MAX &&
		      memchr(f.debug_link, 0, sizeof(f.debug_link)));
		memcpy(all, saved, sizeof(saved));
		memcpy(all + at, tail, sizeof(tail));
	}
}

/* A file of one section that is the debug link, and one of names. */
static void link_text(const char *content, size_t size, const char *want, uint32_t crc)
{
	struct {
		ElfW(Ehdr) e;
		ElfW(Shdr) s[3];
		char names[16];
		char link[600];
	} x = {
		.e = { .e_ident = { 0x7f, 'E', 'L', 'F',
				    sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32, OWN_DATA },
		       .e_type = ET_EXEC,
		       .e_shoff = sizeof(ElfW(Ehdr)),
		       .e_shentsize = sizeof(ElfW(Shdr)),
		       .e_shnum = 3,
		       .e_shstrndx = 2 },
		.names = "\0.gnu_debuglink",
	};
	struct elf_file f;

	x.s[1] = (ElfW(Shdr)){ .sh_name = 1,
			       .sh_type = SHT_PROGBITS,
			       .sh_offset = (size_t)((char *)x.link - (char *)&x),
			       .sh_size = size };
	x.s[2] = (ElfW(Shdr)){ .sh_type = SHT_STRTAB,
			       .sh_offset = (size_t)((char *)x.names - (char *)&x),
			       .sh_size = sizeof(x.names) };
	memcpy(x.link, content, size);
	CHECK(file_of(&f, &x, sizeof(x)) && !f.is_pic);
	CHECK_STR(f.debug_link, want);
	CHECK(f.crc == crc);
}

static void links(void)
{
	char large[600];

	link_text("abc\0\x01\x00\x00\x02", 8, "abc", BYTES(2, 0, 0, 1));
	link_text("abcd\0\0\0\0\x01\x00\x00\x02", 12, "abcd", BYTES(2, 0, 0, 1));
	link_text("abcd\0\0\0\0\x01\x00\x00", 11, "", 0);
	link_text("abcd", 4, "", 0);
	link_text("", 0, "", 0);
	link_text("\0\0\0\0\1\0\0\0", 8, "", 0);
	memset(large, 'x', sizeof(large));
	link_text(large, sizeof(large), "", 0);
	large[256] = 0;
	link_text(large, sizeof(large), "", 0);
}

int main(void)
{
	CASE(notes);
	CASE(loaded);
	CASE(files);
	CASE(links);
	return test_summary();
}
