/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/* Places of uprobes in files for arm, made by hand: functions of ARM and of Thumb instructions */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "tracer/base/probe/elf_symbol.h"

enum { ADDRESS = 0x10000, CODE = 0x1000, CODE_SIZE = 0x100 };

static const char names[] = "\0of_arm\0of_thumb";

struct file {
	Elf32_Ehdr head;
	Elf32_Phdr code;
	Elf32_Shdr sections[3];
	Elf32_Sym symbols[3];
	char names[sizeof(names)];
};

static Elf32_Sym function(uint32_t name, uint32_t value)
{
	return (Elf32_Sym){ .st_name = name, .st_value = value, .st_size = 0x20, .st_shndx = 1,
			    .st_info = ELF32_ST_INFO(STB_GLOBAL, STT_FUNC) };
}

static int make(uint16_t machine, uint32_t table)
{
	struct file f = {
		.head = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32,
				       __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? ELFDATA2MSB
									      : ELFDATA2LSB,
				       EV_CURRENT },
			  .e_type = ET_DYN, .e_machine = machine, .e_version = EV_CURRENT,
			  .e_ehsize = sizeof(Elf32_Ehdr), .e_phentsize = sizeof(Elf32_Phdr),
			  .e_phnum = 1, .e_shentsize = sizeof(Elf32_Shdr), .e_shnum = 3,
			  .e_phoff = offsetof(struct file, code),
			  .e_shoff = offsetof(struct file, sections) },
		.code = { .p_type = PT_LOAD, .p_flags = PF_X | PF_R, .p_offset = CODE,
			  .p_vaddr = ADDRESS, .p_filesz = CODE_SIZE },
		.sections = {
			{ 0 },
			{ .sh_type = table, .sh_link = 2,
			  .sh_offset = offsetof(struct file, symbols),
			  .sh_size = sizeof(f.symbols), .sh_entsize = sizeof(Elf32_Sym) },
			{ .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct file, names),
			  .sh_size = sizeof(names) },
		},
		.symbols = { { 0 }, function(1, ADDRESS), function(8, ADDRESS + 0x41) },
	};
	int fd = memfd_create("elf", MFD_CLOEXEC);

	memcpy(f.names, names, sizeof(names));
	CHECK(fd >= 0 && pwrite(fd, &f, sizeof(f), 0) == sizeof(f) &&
	      !ftruncate(fd, CODE + CODE_SIZE));
	return fd;
}

static bool refuses(int fd, uint64_t offset, const char *why)
{
	struct tr_err err = TR_ERR_INIT;

	return elfsym_refuse_thumb(fd, offset, &err) == -EOPNOTSUPP && strstr(err.sentence, why);
}

static void check_places(uint32_t table)
{
	struct tr_err err = TR_ERR_INIT;
	int fd = make(EM_ARM, table);
	uint64_t at = 0;

	CHECK(!elfsym_resolve(fd, "of_arm", &at, &err) && at == CODE);
	CHECK(!elfsym_refuse_thumb(fd, at, &err) && !elfsym_refuse_thumb(fd, at + 0x1c, &err));
	CHECK(!elfsym_resolve(fd, "of_thumb", &at, &err) && refuses(fd, at, "Thumb"));
	/* As nm(1) prints it, and as a usdt probe is there: without the lowest bit */
	CHECK(refuses(fd, CODE + 0x40, "has Thumb") && refuses(fd, CODE + 0x5e, "has Thumb"));
	/* Between functions */
	CHECK(refuses(fd, CODE + 0x20, "no symbol") && refuses(fd, CODE + 0x60, "no symbol"));
	close(fd);
}

static void patterns(void)
{
	struct tr_err err = TR_ERR_INIT;
	struct elfsym_functions found;
	int fd = make(EM_ARM, SHT_SYMTAB);

	CHECK(!elfsym_functions(fd, "of_*", false, 9, &found, &err) && found.count == 1 &&
	      !strcmp(found.list[0].name, "of_arm") && found.list[0].offset == CODE);
	elfsym_functions_deinit(&found);
	CHECK(elfsym_functions(fd, "of_t*", false, 9, &found, &err) == -EOPNOTSUPP &&
	      strstr(err.sentence, "Thumb"));
	CHECK(elfsym_functions(fd, "x*", false, 9, &found, &err) == -ENOENT);
	close(fd);
}

static void arm(void)
{
	check_places(SHT_SYMTAB);
	check_places(SHT_DYNSYM);
}

static void stripped(void)
{
	int fd = make(EM_ARM, SHT_PROGBITS);

	CHECK(refuses(fd, CODE, "no symbol"));
	close(fd);
}

static void others(void)
{
	struct tr_err err = TR_ERR_INIT;
	int fd = make(EM_386, SHT_SYMTAB);

	CHECK(!elfsym_refuse_thumb(fd, CODE + 0x41, &err) && !elfsym_refuse_thumb(fd, 0, &err));
	close(fd);
}

int main(void)
{
	CASE(arm);
	CASE(patterns);
	CASE(stripped);
	CASE(others);
	return test_summary();
}
