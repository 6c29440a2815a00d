// SPDX-License-Identifier: GPL-2.0-or-later
/* Small files of tracefs: see backend/tracefs.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tracer/kernel/backend/tracefs.h"

ssize_t tracefs_read(int dir, const char *path, size_t max, struct md_buf *out)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char piece[16384];
	size_t all = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, piece, sizeof(piece))) > 0 && all < max) {
		md_buf_put(out, piece, (size_t)n);
		all += (size_t)n;
	}
	n = n < 0 ? -errno : out->failed ? -ENOMEM : (ssize_t)all;
	close(fd);
	return n;
}

int tracefs_write(int dir, const char *path, const char *text, bool truncate)
{
	int fd = openat(dir, path, O_WRONLY | O_CLOEXEC | (truncate ? O_TRUNC : 0)), err = 0;
	size_t len = strlen(text);

	if (fd < 0)
		return -errno;
	if (len && write(fd, text, len) != (ssize_t)len)
		err = errno ? -errno : -EIO;
	close(fd);
	return err;
}

int tracefs_read_format(const struct backend *b, const char *system, const char *event,
			struct md_buf *out)
{
	char path[600];
	ssize_t n;

	if ((size_t)snprintf(path, sizeof(path), "events/%s/%s/format", system, event) >=
	    sizeof(path))
		return -ENAMETOOLONG;
	n = tracefs_read(b->dir, path, TRACEFS_FILE_MAX, out);
	return n < 0 ? (int)n : 0;
}
