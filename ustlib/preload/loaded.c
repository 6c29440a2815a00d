// SPDX-License-Identifier: MIT
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ustlib/preload/loaded.h"

struct loaded *loaded;

static bool same(const struct loaded *l, uintptr_t base, const struct elf_id *id, const char *name)
{
	return l->base == base && l->id.memsz == id->memsz &&
	       l->id.build_id_size == id->build_id_size &&
	       !memcmp(l->id.build_id, id->build_id, id->build_id_size) && !strcmp(l->name, name);
}

/* Mapped, not allocated: an allocation would be an event of a helper beside this one. */
static struct loaded *loaded_create(const char *name)
{
	size_t length = strlen(name), size = sizeof(struct loaded) + length + 1 + PATH_MAX;
	struct loaded *l =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (l == MAP_FAILED)
		return NULL;
	l->size = size;
	memcpy(l->name, name, length + 1);
	l->path = l->name + length + 1;
	return l;
}

struct walk {
	struct loaded **end;
	unsigned int count;
};

/* The loader's lock is held: no file is looked at here. */
static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *name = info->dlpi_name ? info->dlpi_name : "";
	struct walk *w = arg;
	unsigned int place = w->count++;
	struct elf_id id;
	uintptr_t base = 0;
	struct loaded *l;

	(void)size;
	if (!elf_loaded(&id, &base, info))
		return 0;
	for (l = loaded; l; l = l->next)
		if (!l->seen && same(l, base, &id, name)) {
			l->seen = true;
			return 0;
		}
	l = loaded_create(name);
	if (!l)
		return 0;
	l->base = base;
	l->id = id;
	l->seen = l->fresh = true;
	l->is_program = place == 0 && !*name;
	*w->end = l;
	w->end = &l->next;
	return 0;
}

static void find_path(struct loaded *l)
{
	ssize_t n = -1;

	if (l->is_program) {
		n = readlink("/proc/self/exe", l->path, PATH_MAX - 1);
		if (n > 0)
			l->path[n] = 0;
		else
			l->path[0] = 0;
		return;
	}
	if (*l->name && realpath(l->name, l->path))
		return;
	l->is_vdso = !strchr(l->name, '/');
	snprintf(l->path, PATH_MAX, "[%s]", *l->name ? l->name : "vdso");
}

void loaded_renew(void (*came)(const struct loaded *, void *ip),
		  void (*gone)(const struct loaded *, void *ip), void *ip)
{
	struct walk w = { .end = &loaded };
	struct loaded **p, *l;

	for (l = loaded; l; l = l->next) {
		l->seen = l->fresh = false;
		w.end = &l->next;
	}
	dl_iterate_phdr(look, &w);
	for (p = &loaded; (l = *p);) {
		if (l->seen) {
			p = &l->next;
			continue;
		}
		if (gone)
			gone(l, ip);
		*p = l->next;
		munmap(l, l->size);
	}
	for (l = loaded; l; l = l->next) {
		if (!l->fresh)
			continue;
		find_path(l);
		if (came)
			came(l, ip);
	}
}
