/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/base/probe/btf_files.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"

#define KERNEL "vmlinux"        /* the name of its file */

/* A module whose types cannot be read is left out. */
static int add_module(struct btf_files *f, const char *path)
{
	struct btf *b;
	int ret;

	if (!array_room(f->modules, f->count + 1))
		return -ENOMEM;
	ret = btf_load(path, f->kernel, &b);
	if (!ret)
		f->modules[f->count++] = b;
	return ret == -ENOMEM ? ret : 0;
}

/* Reads the files in the directory of the kernel's. */
static int read_modules(struct btf_files *f)
{
	const char *name = strrchr(f->path, '/');
	char path[PATH_MAX];
	struct dirent *e;
	int dir_len, ret = 0;
	DIR *dir;

	f->listed = true;
	if (!name || strcmp(name + 1, KERNEL) != 0)
		return 0;
	dir_len = snprintf(path, sizeof(path), "%.*s", (int)(name + 1 - f->path), f->path);
	dir = opendir(path);
	while (dir && !ret && (e = readdir(dir)))
		if (e->d_name[0] != '.' && strcmp(e->d_name, KERNEL) != 0 &&
		    strlen(e->d_name) < sizeof(path) - (size_t)dir_len) {
			strcpy(path + dir_len, e->d_name);
			ret = add_module(f, path);
		}
	if (dir)
		closedir(dir);
	return ret;
}

int btf_files_find(struct btf_files *f, const char *function, size_t len,
		   const struct btf **types, uint32_t *proto)
{
	int ret = f->kernel ? 0 : btf_load(f->path, NULL, &f->kernel);

	*proto = 0;
	if (ret)
		return ret;
	*types = f->kernel;
	*proto = btf_function(f->kernel, function, len);
	if (!*proto && !f->listed)
		ret = read_modules(f);
	for (size_t i = 0; i < f->count && !*proto && !ret; i++) {
		*types = f->modules[i];
		*proto = btf_function(*types, function, len);
	}
	return ret;
}

void btf_files_deinit(struct btf_files *f)
{
	for (size_t i = 0; i < f->count; i++)
		btf_free(f->modules[i]);
	free(f->modules);
	btf_free(f->kernel);
	*f = (struct btf_files){ .path = f->path };
}
