/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FS_ZONE_H
#define FS_ZONE_H

#include <stddef.h>

/*
 * Sets the time zone of the process (NULL: leaves the one it has) and writes its name down. -EINVAL: there is no such zone (libc
 * itself would take it for UTC without a word). Before any thread is started.
 */
int zone_set(const char *zone, char *name, size_t size);

#endif
