/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/kernel/symbol/object.h"

#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/os/open_as.h"

#define NAMES_MAX ((uint64_t)64 << 20)  /* bytes of a file's table of names */
#define SYMBOLS_MAX 2000000u            /* of one file that are looked at */

enum { NOTE_BUILD_ID = 3 };

/* Reads the file's build id (SYMBOL_ID_MAX bytes). Returns its size; 0: it has none. */
static size_t read_build_id(const struct elf_view *v, uint8_t *id)
{
	const struct elf_section *s = elf_view_section(v, ".note.gnu.build-id");
	struct { Elf64_Nhdr h; char name[4]; } note;

	if (!s || !elf_view_read(v, s, 0, &note, sizeof(note)) || note.h.n_namesz != 4 ||
	    note.h.n_type != NOTE_BUILD_ID || memcmp(note.name, "GNU", 4) ||
	    note.h.n_descsz > SYMBOL_ID_MAX ||
	    !elf_view_read(v, s, sizeof(note), id, note.h.n_descsz))
		return 0;
	return note.h.n_descsz;
}

size_t symbol_build_id(int fd, uint8_t *id)
{
	struct elf_view *v = malloc(sizeof(*v));
	size_t n = 0;

	if (v && !elf_view_open(v, fd, NULL)) {
		n = read_build_id(v, id);
		elf_view_close(v);
	}
	free(v);
	return n;
}

/* ---- tables of symbols ---- */

/* The rank of a function (function.h); 0: the symbol is none. */
static uint8_t rank_symbol(const struct elf_symbol *s)
{
	int type = ELF64_ST_TYPE(s->info), bind = ELF64_ST_BIND(s->info);

	if (s->section == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC))
		return 0;
	return bind == STB_GLOBAL ? 3 : bind == STB_WEAK ? 2 : 1;
}

static void add_symbols(struct functions *f, struct elf_view *v, const struct elf_section *table,
			const char *names, uint64_t names_size)
{
	struct elf_symbol s;
	uint8_t rank;

	for (uint64_t i = 0; i < SYMBOLS_MAX && elf_view_symbol(v, table, i, &s); i++) {
		rank = rank_symbol(&s);
		if (rank && s.name < names_size && names[s.name] &&
		    !functions_add(f, s.value, s.size, names + s.name, rank))
			break;
	}
}

/* Adds the functions of a table. False: the file has no such table. */
static bool read_table(struct functions *f, struct elf_view *v, uint32_t type)
{
	const struct elf_section *table = elf_view_section_of(v, type), *strings;
	char *names;

	if (!table || !table->size || table->link >= v->section_count)
		return false;
	strings = &v->sections[table->link];
	if (strings->type != SHT_STRTAB || !strings->size || strings->size > NAMES_MAX)
		return false;
	/* With a NUL after the last byte: a name ends in the buffer. */
	names = malloc(strings->size + 1);
	if (!names || !elf_view_read(v, strings, 0, names, strings->size)) {
		free(names);
		return false;
	}
	names[strings->size] = '\0';
	add_symbols(f, v, table, names, strings->size);
	free(names);
	functions_sort(f);
	return true;
}

/* ---- files ---- */

/* Opens a file if it is ELF and its build id is this one (id_size 0: any). -1: it is not. */
static int open_view(struct elf_view *v, const struct owner *owner, const char *path,
		     const uint8_t *id, size_t id_size)
{
	int fd = *path == '/' && !strstr(path, "/../") ? ownerfile_open(owner, path, NULL) : -1;
	uint8_t found[SYMBOL_ID_MAX];

	if (fd < 0 || file_is_fuse(fd) || elf_view_open(v, fd, NULL)) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	if (id_size && (read_build_id(v, found) != id_size || memcmp(found, id, id_size))) {
		elf_view_close(v);
		close(fd);
		return -1;
	}
	return fd;
}

static bool read_debug_file(struct code_object *o, const struct owner *owner, const char *path,
			    const uint8_t *id, size_t id_size)
{
	struct elf_view *v = malloc(sizeof(*v));
	int fd = v ? open_view(v, owner, path, id, id_size) : -1;
	bool done = false;

	if (fd >= 0) {
		done = read_table(&o->functions, v, SHT_SYMTAB);
		elf_view_close(v);
		close(fd);
	}
	free(v);
	return done;
}

/* The symbols that were stripped from the file; only a build id shows that two files match. */
static bool find_debug_file(struct code_object *o, const struct owner *owner,
			    const struct elf_view *v)
{
	const struct elf_section *link = elf_view_section(v, ".gnu_debuglink");
	int dir = (int)(o->shown - o->path);
	char path[PATH_MAX], name[256] = "";
	uint8_t id[SYMBOL_ID_MAX];
	size_t n = read_build_id(v, id), len;

	if (n < 2)
		return false;
	len = (size_t)snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%02x/", id[0]);
	for (size_t i = 1; i < n; i++)
		len += (size_t)snprintf(path + len, sizeof(path) - len, "%02x", id[i]);
	snprintf(path + len, sizeof(path) - len, ".debug");
	if (read_debug_file(o, owner, path, id, n))
		return true;
	if (!link || !elf_view_read(v, link, 0, name,
				    link->size < sizeof(name) ? link->size : sizeof(name)) ||
	    !memchr(name, 0, sizeof(name)) || !*name || strchr(name, '/'))
		return false;
	for (int i = 0; i < 3; i++) {
		static const char *const forms[] = { "%s%.*s%s", "%s%.*s.debug/%s", "%s%.*s%s" };

		snprintf(path, sizeof(path), forms[i], i < 2 ? "" : "/usr/lib/debug", dir, o->path,
			 name);
		if (read_debug_file(o, owner, path, id, n))
			return true;
	}
	return false;
}

static int open_vdso(struct elf_view *v)
{
	int fd = code_map_open_vdso();

	if (fd >= 0 && elf_view_open(v, fd, NULL)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void take_view(struct code_object *o, const struct owner *owner, struct elf_view *v)
{
	o->segments = v->segments;
	o->segment_count = v->segment_count;
	if (!read_table(&o->functions, v, SHT_SYMTAB) && !find_debug_file(o, owner, v))
		read_table(&o->functions, v, SHT_DYNSYM);
	v->segments = NULL;
}

void object_load(struct code_object *o, const struct owner *owner, bool here)
{
	struct elf_view *v = malloc(sizeof(*v));
	int fd = -1;

	o->loaded = true;
	if (v && !strcmp(o->path, VDSO_NAME))
		fd = here ? open_vdso(v) : -1;
	else if (v)
		fd = open_view(v, owner, o->path, o->id, o->id_size);
	if (fd >= 0) {
		take_view(o, owner, v);
		elf_view_close(v);
		close(fd);
	}
	free(v);
}

uint64_t object_address(const struct code_object *o, uint64_t distance, int64_t offset)
{
	if (offset < 0) {
		/* The first segment has the lowest address; it is in the page that begins there. */
		if (o->segment_count)
			distance += o->segments[0].address & ~(uint64_t)4095;
		return distance;
	}
	distance += (uint64_t)offset;
	for (uint32_t i = 0; i < o->segment_count; i++) {
		const struct elf_segment *s = &o->segments[i];

		if (distance >= s->offset && distance - s->offset < s->size)
			return s->address + (distance - s->offset);
	}
	return distance;
}

void object_free(struct code_object *o)
{
	free(o->path);
	free(o->segments);
	functions_deinit(&o->functions);
	free(o);
}
