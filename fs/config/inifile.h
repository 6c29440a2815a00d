/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * INI files: [SECTION], KEY = VALUE or KEY : VALUE, blanks around each; a line that begins with ;
 * or # is a comment. A line that begins with blanks is one more value of the key before it.
 */
#ifndef FS_CONFIG_INIFILE_H
#define FS_CONFIG_INIFILE_H

#include <stddef.h>

#include "metadata/buf.h"
#include "tracer/base/err.h"

#define INIFILE_MOST (16u << 20)        /* bytes of a file */

/*
 * One value; or the beginning of a section: key and value are NULL. Returns 0, or -errno with an
 * explanation, which ends the reading. line: 1 ….
 */
typedef int (*inifile_item)(void *arg, int line, const char *section, const char *key,
			    const char *value, struct tr_err *err);

/* 0, or -errno; err->line says where. */
int inifile_read(const char *text, inifile_item item, void *arg, struct tr_err *err);
/* The contents of a regular file. -errno; -EFBIG. */
int inifile_load(const char *path, struct md_buf *text);
/* Calls read with the path of each file *.ini in dir/folder, in the order of their names. */
void inifile_each(const char *dir, const char *folder, void (*read)(const char *path));

#endif
