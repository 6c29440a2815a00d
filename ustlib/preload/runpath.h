/* SPDX-License-Identifier: MIT */
/*
 * dlopen(3) looks for a name without a slash along the run path of its caller, which is not the
 * helper that calls it in the program's stead.
 */
#ifndef USTLIB_PRELOAD_RUNPATH_H
#define USTLIB_PRELOAD_RUNPATH_H

#include <limits.h>
#include <stdbool.h>

/*
 * The library that a caller at ip would find, if it or the program has a run path. Before any dl
 * function that may fail.
 */
bool runpath_find(void *ip, const char *name, char path[PATH_MAX]);

#endif
