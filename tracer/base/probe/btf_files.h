/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The types of the kernel and, in files beside them, of its modules. Each file is read when it is
 * first needed, and kept: the rules of one write share them.
 */
#ifndef TRACER_PROBE_BTF_FILES_H
#define TRACER_PROBE_BTF_FILES_H

#include "tracer/base/probe/btf.h"

struct btf_files {
	const char *path;       /* of the kernel's types */
	struct btf *kernel;     /* NULL: not read yet */
	struct btf **modules;
	size_t count;
	bool listed;            /* modules are read */
};

#define BTF_FILES_INIT(path) { (path), NULL, NULL, 0, false }

/*
 * Finds a function of the kernel, or else of a module. *proto: its prototype in *types; 0: there is
 * none, or several that differ. 0, or as btf_load for the kernel's types.
 */
int btf_files_find(struct btf_files *f, const char *function, size_t len,
		   const struct btf **types, uint32_t *proto);
void btf_files_deinit(struct btf_files *f);

#endif
