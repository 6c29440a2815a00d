/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * ELF files with their headers, tables and notes spoilt: no crash, no endless loop, results inside
 * the file. Deterministic: fuzz_elfsym SECONDS ROUND begins at a round.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tracer/base/probe/probe.h"
#include "tracer/base/probe/elf_symbol.h"

static uint64_t seed, round_now;
static uint8_t file[65536];
static size_t file_size;

static uint32_t below(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % n);
}

static void fail(const char *what)
{
	printf("not ok - round %llu: %s\n", (unsigned long long)round_now, what);
	exit(1);
}

enum { NAMES = 1024, NOTES = 2048, SYMS = 3072, DYNNAMES = 4096, SECTIONS = 8192 };

static size_t add_note(size_t at, uint64_t pc, const char *strings, size_t n)
{
	Elf64_Nhdr h = { 8, (uint32_t)(24 + n), 3 };
	uint64_t words[3] = { pc, 0x401000, below(2) ? 0x401010 : 0 };

	memcpy(file + at, &h, sizeof(h));
	memcpy(file + at + 12, "stapsdt", 8);
	memcpy(file + at + 20, words, 24);
	memcpy(file + at + 44, strings, n);
	return at + ((44 + n + 3) & ~(size_t)3);
}

/* The section table: its names, a note that ends at `end`, and the symbols; sizes in bytes */
static void add_sections(size_t end, size_t names, size_t symbols, size_t table)
{
	Elf64_Shdr sh[6] = { { 0 } };

	sh[1] = (Elf64_Shdr){
		.sh_name = 37, .sh_type = SHT_STRTAB, .sh_offset = NAMES, .sh_size = names
	};
	sh[2] = (Elf64_Shdr){
		.sh_name = 1, .sh_type = SHT_NOTE, .sh_offset = NOTES, .sh_size = end - NOTES
	};
	sh[3] = (Elf64_Shdr){ .sh_name = 15,
			      .sh_type = SHT_PROGBITS,
			      .sh_addr = 0x401000,
			      .sh_offset = 512,
			      .sh_size = 1 };
	sh[4] = (Elf64_Shdr){ .sh_name = 29,
			      .sh_type = below(2) ? SHT_SYMTAB : SHT_DYNSYM,
			      .sh_offset = SYMS,
			      .sh_size = table,
			      .sh_link = 5 };
	sh[5] = (Elf64_Shdr){ .sh_name = 37,
			      .sh_type = SHT_STRTAB,
			      .sh_offset = DYNNAMES,
			      .sh_size = symbols };
	memcpy(file + SECTIONS, sh, sizeof(sh));
	file_size = SECTIONS + sizeof(sh);
}

/* A small file in which everything is right. */
static void make(void)
{
	static const char names[] = "\0.note.stapsdt\0.stapsdt.base\0.symtab\0.strtab";
	static const char symbols[] = "\0alpha\0beta@@V1\0gamma\0.hidden";
	Elf64_Ehdr e = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
			 .e_type = ET_DYN,
			 .e_machine = EM_X86_64,
			 .e_phoff = 64,
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 1,
			 .e_shoff = SECTIONS,
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 6,
			 .e_shstrndx = 1 };
	Elf64_Phdr ph = { .p_type = PT_LOAD,
			  .p_flags = PF_R | PF_X,
			  .p_vaddr = 0x400000,
			  .p_filesz = SECTIONS,
			  .p_memsz = SECTIONS };
	Elf64_Sym s[5] = {
		[1] = { .st_name = 1,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = 1,
			.st_value = 0x400100,
			.st_size = 32 },
		[2] = { .st_name = 7,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = 1,
			.st_value = 0x400200 },
		[3] = { .st_name = 16,
			.st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
			.st_shndx = 1,
			.st_value = 0x400300 },
		[4] = { .st_name = 16,
			.st_info = ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE),
			.st_shndx = 1,
			.st_value = 0x400400 },
	};
	size_t end;

	memset(file, 0, sizeof(file));
	memcpy(file, &e, sizeof(e));
	memcpy(file + 64, &ph, sizeof(ph));
	memcpy(file + NAMES, names, sizeof(names));
	end = add_note(NOTES, 0x400123, "prov\0one\0-4@%edi 8@$3 4@(%rax)", 31);
	end = add_note(end, 0x400200, "prov\0two\0", 10);
	memcpy(file + SYMS, s, sizeof(s));
	memcpy(file + DYNNAMES, symbols, sizeof(symbols));
	add_sections(end, sizeof(names), sizeof(symbols), sizeof(s));
}

static void spoil(void)
{
	static const uint32_t places[][2] = { { 4, 60 },        { 64, 56 },    { NAMES, 48 },
					      { NOTES, 160 },   { SYMS, 120 }, { DYNNAMES, 32 },
					      { SECTIONS, 384 } };
	static const uint64_t values[] = {
		0,          1,          0xff,      0xffff,     0x7fffffff,
		0xffffffff, 1ull << 32, INT64_MAX, UINT64_MAX, UINT64_MAX - 63
	};

	for (uint32_t n = below(6); n; n--) {
		const uint32_t *p = places[below(7)];
		uint32_t at = p[0] + below(p[1]);

		if (below(3))
			file[at] = (uint8_t)below(256);
		else
			memcpy(file + (at & ~3u), &values[below(10)], below(2) ? 8 : 4);
	}
	if (below(8) == 0)
		file_size = below((uint32_t)file_size);
}

static void check_usdt(int fd)
{
	struct dynamic_event d;
	struct md_buf b = MD_BUF_INIT;
	struct tr_err err = TR_ERR_INIT;

	if (dynamic_event_parse("usdt:/x:prov:one", &d, &err))
		fail("a good rule is refused");
	d.fd = fd;
	if (!dynamic_event_resolve(&d, NULL, &err)) {
		for (size_t i = 0; i < d.place_count; i++)
			if (dynamic_event_define(&d, i, "trailfs_test", "x", &b, &err))
				fail("a place has no definition");
		for (const char *p = md_buf_str(&b); *p; p++)
			if ((*p < ' ' && *p != '\n') || *p > '~')
				fail("a definition has bytes of the file's choice");
	} else if (!err.sentence[0]) {
		fail("no sentence");
	}
	dynamic_event_deinit(&d);
	md_buf_deinit(&b);
}

static void check_functions(int fd, bool returns)
{
	struct elfsym_functions f;
	struct tr_err err = TR_ERR_INIT;

	if (elfsym_functions(fd, "*a*", returns, 3, &f, &err)) {
		if (!err.sentence[0] || f.list || f.count)
			fail("no sentence, or functions in spite of an error");
		return;
	}
	if (!f.count || f.count > 3)
		fail("no functions, or too many");
	for (size_t i = 0; i < f.count; i++) {
		const char *name = f.list[i].name;

		if (f.list[i].offset >= file_size)
			fail("an offset outside of the file");
		if (!*name || strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789_.$") != strlen(name))
			fail("a name has bytes that no rule can have");
	}
	elfsym_functions_deinit(&f);
}

static unsigned int one_round(int fd)
{
	static const char *const symbols[] = { "alpha",   "beta",     "gamma",
					       "beta@V1", "beta@@V1", "alpha+8",
					       "alpah",   "0x400100", ".hidden" };
	struct tr_err err = TR_ERR_INIT;
	struct elfsym_probes p;
	uint64_t at;
	unsigned int good = 0;

	seed = round_now * 0x9e3779b97f4a7c15 + 1;
	make();
	spoil();
	if (ftruncate(fd, 0) || pwrite(fd, file, file_size, 0) != (ssize_t)file_size)
		fail("cannot write");
	check_functions(fd, round_now & 1);
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		err.sentence[0] = '\0';
		if (elfsym_resolve(fd, symbols[i], &at, &err)) {
			if (!err.sentence[0])
				fail("no sentence");
			continue;
		}
		if (at >= file_size)
			fail("an offset outside of the file");
		good++;
	}
	if (!elfsym_probes(fd, &p, &err))
		for (size_t i = 0; i < p.count; i++) {
			if (p.probes[i].offset >= file_size || p.probes[i].semaphore >= file_size)
				fail("a probe outside of the file");
			good++;
		}
	elfsym_probes_deinit(&p);
	check_usdt(fd);
	return good;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atol(argv[1]) : 5);
	uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, good = 0;
	int fd = memfd_create("elf", MFD_CLOEXEC);

	if (fd < 0)
		return 1;
	round_now = first;
	do {
		good += one_round(fd);
		round_now++;
	} while (round_now % 64 || time(NULL) < end);
	printf("%s - %llu rounds, %llu places found\n", good ? "ok" : "not ok",
	       (unsigned long long)(round_now - first), (unsigned long long)good);
	return !good;
}
