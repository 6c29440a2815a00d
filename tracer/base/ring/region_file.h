/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regions that are files of a directory, in place of memfds (ring.h). Private to the room.
 *
 * A file cannot be sealed: who may write to it may also make it shorter, and then an access is a
 * SIGBUS. So only programs of the daemon's own user, who may end the daemon anyway, get such files;
 * the rings of others are memfds.
 */
#ifndef TRACER_RING_REGION_FILE_H
#define TRACER_RING_REGION_FILE_H

#include "tracer/base/err.h"
#include "tracer/base/ring/ring.h"

#define REGION_FILE_PREFIX "trail-region-"      /* the key follows, 16 hexadecimal digits */
#define REGION_FILE_NAME_MAX 32

bool region_has_directory(void);
/* A new, empty file for the region with this key. Its descriptor, or -errno. */
int region_file_create(uint64_t key);
/* Removes the name; who has the file open keeps it. Nothing if there is no directory. */
void region_file_remove(uint64_t key);
/* Whether the descriptor is of a file that only this user and root may open. */
bool region_is_file(int fd);
/*
 * Allocates and writes all of the file: a store into it later changes nothing but the bytes, so
 * that after a crash the file system needs nothing else to find them. 0 or -errno.
 */
int region_file_fill(int fd, uint8_t *map, size_t size);

#endif
