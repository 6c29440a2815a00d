/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small files of the state directory. They are replaced atomically (temporary file and rename): a
 * killed daemon leaves either the old or the new contents. Any thread.
 */
#ifndef TRACER_OS_STATE_FILE_H
#define TRACER_OS_STATE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "metadata/buf.h"

/* Writes all of it to any descriptor. 0 or -errno. */
int write_all(int fd, const void *buf, size_t len);
/* Replaces the file, mode 0600. 0 or -errno. */
int state_file_write(int dir, const char *name, const void *data, size_t len);
/*
 * Appends the contents of a regular file to out. 0 or -errno; -EFBIG if it has more than max bytes.
 */
int state_file_read(int dir, const char *name, size_t max, struct md_buf *out);
/* Makes a directory with this mode, whatever the umask is, and its parents. 0 or -errno. */
int state_file_mkdir(const char *path, unsigned int mode);
/* Removes a file, or a directory with files and one level of directories. 0 or -errno. */
int state_file_remove(int dir, const char *name);

#endif
