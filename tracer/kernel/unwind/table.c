// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/unwind/table.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/base/array.h"
#include "tracer/base/probe/elf_file.h"
#include "tracer/kernel/unwind/frame_info.h"
#include "tracer/kernel/unwind/unwind.h"

#define SECTION_MAX ((uint64_t)64 << 20)
#define TABLES_MAX ((size_t)64 << 20)   /* bytes of all tables; files beyond have none */
#define FILES_MAX 16384u

struct unwinder {
	struct local_devices *devices;
	struct unwind_file **files;     /* owned, and each of them */
	size_t count;
	size_t charged;
};

/* ---- one table ---- */

const struct unwind_rule *unwind_table_find(const struct unwind_table *t, uint64_t address)
{
	uint64_t at = address - t->base;
	size_t low = 0, high = t->row_count;

	if (address < t->base || at > UINT32_MAX)
		return NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->rows[middle].at <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low && t->rows[low - 1].rule ? &t->rules[t->rows[low - 1].rule] : NULL;
}

void unwind_table_deinit(struct unwind_table *t)
{
	free(t->rows);
	free(t->rules);
	free(t->segments);
	md_buf_deinit(&t->expressions);
	*t = (struct unwind_table){ 0 };
}

static bool take_segments(struct unwind_table *t, const struct elf_view *v)
{
	if (!array_room(t->segments, v->segment_count))
		return false;
	for (uint32_t i = 0; i < v->segment_count; i++) {
		const struct elf_segment *s = &v->segments[i];

		t->segments[t->segment_count++] = (struct unwind_segment){
			s->offset, s->address, s->size, (s->flags & PF_X) != 0
		};
	}
	return true;
}

/* False: the file has no rules, or they are not to be had. */
static bool read_table(struct unwind_table *t, const struct elf_view *v)
{
	const struct elf_section *s = elf_view_section(v, ".eh_frame");
	uint8_t *bytes;
	bool ok;

	if (!v->is64 || v->machine != EM_X86_64 || !s || s->type == SHT_NOBITS || !s->size ||
	    s->size > SECTION_MAX)
		return false;
	bytes = malloc(s->size);
	ok = bytes && elf_view_read(v, s, 0, bytes, s->size) &&
	     frame_info_read(t, bytes, s->size, s->address) && take_segments(t, v);
	free(bytes);
	return ok;
}

/* Reads the rules of an ELF file; without any, *t is empty. */
static void load_table(struct unwind_table *t, int fd)
{
	struct elf_view *v = malloc(sizeof(*v));

	if (v && !elf_view_open(v, fd, NULL)) {
		if (!read_table(t, v))
			unwind_table_deinit(t);
		elf_view_close(v);
	}
	free(v);
}

/* ---- all files ---- */

struct unwinder *unwinder_create(void)
{
	struct unwinder *u = calloc(1, sizeof(*u));

	if (u && !(u->devices = local_devices_read())) {
		free(u);
		return NULL;
	}
	return u;
}

static void free_file(struct unwind_file *f)
{
	unwind_table_deinit(&f->table);
	free(f);
}

void unwinder_free(struct unwinder *u)
{
	if (!u)
		return;
	for (size_t i = 0; i < u->count; i++)
		free_file(u->files[i]);
	free(u->files);
	free(u->devices);
	free(u);
}

void unwind_file_release(struct unwind_file *f)
{
	if (f)
		f->uses--;
}

/* Forgets the files that no process maps. */
static void forget_unused(struct unwinder *u)
{
	size_t kept = 0;

	for (size_t i = 0; i < u->count; i++) {
		struct unwind_file *f = u->files[i];

		if (f->uses) {
			u->files[kept++] = f;
			continue;
		}
		u->charged -= f->charged;
		free_file(f);
	}
	u->count = kept;
}

/* st: of the file now; NULL: not known, then the latest one that had the numbers. */
static struct unwind_file *find_file(const struct unwinder *u, const struct unwind_file *key,
				     const struct stat *st)
{
	for (size_t i = u->count; i--;) {
		struct unwind_file *f = u->files[i];

		if (f->device == key->device && f->inode == key->inode &&
		    (!st || (f->size == key->size && f->changed == key->changed)))
			return f;
	}
	return NULL;
}

static void charge(struct unwinder *u, struct unwind_file *f)
{
	const struct unwind_table *t = &f->table;
	size_t n = t->row_count * sizeof(*t->rows) + t->rule_count * sizeof(*t->rules) +
		   t->expressions.len;

	if (u->charged + n > TABLES_MAX)
		forget_unused(u);
	if (u->charged + n > TABLES_MAX) {
		unwind_table_deinit(&f->table);
		n = 0;
	}
	f->charged = n;
	u->charged += n;
}

static struct unwind_file *add_file(struct unwinder *u, const struct unwind_file *key, int fd)
{
	struct unwind_file *f;

	if (u->count >= FILES_MAX)
		forget_unused(u);
	if (u->count >= FILES_MAX || !array_room(u->files, u->count + 1))
		return NULL;
	f = malloc(sizeof(*f));
	if (!f)
		return NULL;
	*f = *key;
	load_table(&f->table, fd);
	charge(u, f);
	u->files[u->count++] = f;
	return f;
}

struct unwind_file *unwinder_file(struct unwinder *u, int process, const struct code_mapping *m)
{
	bool vdso = !strcmp(m->path, VDSO_NAME);
	struct unwind_file key = { .device = (uint64_t)m->major << 32 | m->minor,
				   .inode = m->inode }, *f;
	struct stat st;
	int fd = -1;

	f = vdso ? find_file(u, &key, NULL) : NULL;
	if (!f)
		fd = vdso ? code_map_open_vdso() : code_map_open(u->devices, process, m);
	if (fd >= 0 && !fstat(fd, &st)) {
		key.size = (uint64_t)st.st_size;
		key.changed = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
		f = find_file(u, &key, &st);
		if (!f)
			f = add_file(u, &key, fd);
	} else if (!f) {
		f = find_file(u, &key, NULL);
	}
	if (fd >= 0)
		close(fd);
	if (f)
		f->uses++;
	return f;
}
