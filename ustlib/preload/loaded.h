/* SPDX-License-Identifier: MIT */
/*
 * The executable and libraries that are loaded, as a list of our own, because the loader's cannot
 * be looked at whenever a state dump is due: in a signal handler, or in the child of a fork of a
 * process with threads. It is renewed when it is safe: at start and after each dlopen, dlmopen and
 * dlclose that comes by. What libc loads for itself (for name services, character sets) is noticed
 * at the next of these.
 */
#ifndef USTLIB_PRELOAD_LOADED_H
#define USTLIB_PRELOAD_LOADED_H

#include "ustlib/preload/elf.h"

struct loaded {
	struct loaded *next;
	uintptr_t base;
	struct elf_id id;               /* as loaded */
	size_t size;                    /* of this entry: a mapping */
	bool seen, fresh;               /* by the renewal in progress */
	bool is_program, is_vdso;
	char *path;                     /* of the file; [name] if there is none */
	char name[];                    /* as the loader has it; path follows it */
};

/* All under the caller's lock. */
extern struct loaded *loaded;

/* Calls came and gone for what has come and gone since the last time. */
void loaded_renew(void (*came)(const struct loaded *, void *ip),
		  void (*gone)(const struct loaded *, void *ip), void *ip);

#endif
