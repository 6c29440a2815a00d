/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that users name in control files, opened with the rights of the session's owner. */
#ifndef TRACER_OS_OPEN_AS_H
#define TRACER_OS_OPEN_AS_H

#include <stdbool.h>
#include <sys/types.h>

#include "tracer/base/err.h"
#include "tracer/base/os/cred.h"

/*
 * Opens a regular file for reading with the rights and groups of the owner. Follows a
 * symbolic link only if root or the owner owns it. `path` is absolute, without `..`. May wait for
 * the file system: the caller holds no lock. Returns the descriptor; -EINVAL, -ENOENT, -EACCES,
 * -ELOOP, … with a sentence.
 */
int ownerfile_open(const struct owner *owner, const char *path, struct tr_err *err);

/*
 * Whether the file is on a FUSE file system: reads of our own files would wait for ourselves, and
 * others may never answer.
 */
bool file_is_fuse(int fd);

#endif
