/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Directories that a session writes to, found and made safely: nothing that another user may have
 * planted on the way is followed. The caller has the owner's rights (os/cred.h). Private to
 * tracer/.
 */
#ifndef TRACER_OUTPUT_DIRECTORY_H
#define TRACER_OUTPUT_DIRECTORY_H

#include <stdbool.h>
#include <sys/types.h>

#include "tracer/base/err.h"

#define OUTPUT_DIR_PATH_MAX 3500

/* What can be written to `output`: absolute, no "..", one line. */
int output_dir_check(const char *path, struct tr_err *err);
/*
 * Opens a directory, following only symbolic links that root or the owner made. make: with this
 * mode (and 0700) if it is missing, and those above it. Returns a descriptor or -errno.
 */
int output_dir_open(const char *path, uid_t owner, bool make, mode_t mode, struct tr_err *err);
/*
 * A directory below one of ours: every part is the owner's own, and no link. Made if it is missing.
 */
int output_dir_sub(int dir, const char *path, uid_t owner, mode_t mode);
/* Whether there is a trace in the directory already. */
bool output_dir_used(int dir);
/*
 * Removes a directory and what is in it, following nothing; `deep`: so many levels of directories.
 */
void output_dir_remove(int dir, const char *name, int deep);

#endif
