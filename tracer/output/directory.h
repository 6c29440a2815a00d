/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Directories that a session writes to, opened and made safely: no symbolic link of another user is
 * followed. The caller has entered the owner's credentials (os/cred.h).
 */
#ifndef TRACER_OUTPUT_DIRECTORY_H
#define TRACER_OUTPUT_DIRECTORY_H

#include <stdbool.h>
#include <sys/types.h>

#include "tracer/base/err.h"
#include "tracer/base/os/cred.h"

#define OUTPUT_DIR_PATH_MAX 3500

struct session;

/* Who writes to a directory, and the mode of directories that are made. */
struct output_owner {
	struct owner owner;
	mode_t mode;
};

/* The session's owner. Caller holds tracer.lock. */
struct output_owner output_owner_of(const struct session *s);
/*
 * Opens the directory with the owner's rights, and makes it if it is missing. unused: -EEXIST if it
 * has a trace. Returns a descriptor or -errno. Caller does not hold tracer.lock: a disk may be
 * slow.
 */
int output_dir_make(const char *path, const struct output_owner *of, bool unused,
		    struct tr_err *err);
/* The path in a value of `output`, which may be written as file:///PATH. */
const char *output_dir_path(const char *value);
/* Checks a path for `output`: absolute, no "..", no control characters. */
int output_dir_check(const char *path, struct tr_err *err);
/*
 * Opens a directory; follows only symbolic links that belong to root or the owner. make: makes it
 * with this mode, and its parents with this mode and 0700, if they are missing. Returns a
 * descriptor or -errno.
 */
int output_dir_open(const char *path, uid_t owner, bool make, mode_t mode, struct tr_err *err);
/*
 * Opens a directory below `dir`, made if it is missing. Each component must belong to the owner and
 * must be no link. Returns a descriptor or -errno.
 */
int output_dir_sub(int dir, const char *path, uid_t owner, mode_t mode);
/* The same of a directory that exists: -ENOENT if it does not. */
int output_dir_find(int dir, const char *path, uid_t owner);
/*
 * Removes an empty directory, or with `deep` also its contents, this many levels down. Follows no
 * link.
 */
void output_dir_remove(int dir, const char *name, int deep);

#endif
