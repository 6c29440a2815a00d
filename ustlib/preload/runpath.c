// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "ustlib/preload/elf.h"
#include "ustlib/preload/runpath.h"

static bool has_run_path(const struct link_map *map)
{
	for (const ElfW(Dyn) *d = map ? map->l_ld : NULL; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_RPATH || d->d_tag == DT_RUNPATH)
			return true;
	return false;
}

/*
 * The first of the directories that has it, as the loader goes: a file for another machine is
 * passed over.
 */
static bool search(const Dl_serinfo *dirs, const char *name, char path[PATH_MAX])
{
	struct elf_file file;

	for (unsigned int i = 0; i < dirs->dls_cnt; i++) {
		int n = snprintf(path, PATH_MAX, "%s/%s", dirs->dls_serpath[i].dls_name, name);

		if (n > 0 && n < PATH_MAX && elf_file(&file, path))
			return true;
	}
	return false;
}

bool runpath_find(void *ip, const char *name, char path[PATH_MAX])
{
	struct link_map *caller = NULL;
	Dl_serinfo size, *dirs;
	bool found = false;
	Dl_info info;

	if (!name || !*name || strchr(name, '/') ||
	    !dladdr1(ip, &info, (void **)&caller, RTLD_DL_LINKMAP) || !caller ||
	    (!has_run_path(caller) && !has_run_path(_r_debug.r_map)) ||
	    dlinfo(caller, RTLD_DI_SERINFOSIZE, &size) != 0)
		return false;
	dirs = mmap(NULL, size.dls_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (dirs == MAP_FAILED)
		return false;
	dirs->dls_size = size.dls_size;
	dirs->dls_cnt = size.dls_cnt;
	if (dlinfo(caller, RTLD_DI_SERINFO, dirs) == 0)
		found = search(dirs, name, path);
	munmap(dirs, size.dls_size);
	return found;
}
