/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that users name in control files, opened with the rights of the session's owner. */
#ifndef TRACER_OS_OPEN_AS_H
#define TRACER_OS_OPEN_AS_H

#include <sys/types.h>

#include "tracer/base/err.h"

/*
 * Opens a regular file for reading, as the user `owner` could: with that user's groups, and through symbolic links only if they
 * belong to root or to the owner. The path is absolute, without `..`. May wait for the file system: no lock is to be held. Returns the
 * descriptor; -EINVAL, -ENOENT, -EACCES, -ELOOP, … with a sentence.
 */
int ownerfile_open(uid_t owner, const char *path, struct tr_err *err);

#endif
