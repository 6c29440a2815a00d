// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writing a moment into a directory. Who may write there is the caller's affair (fsuid); no link is followed, and nothing that is
 * there already is written over.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/tracer.h"

#define PIECE (256u << 10)

/* The directory that path's last part is in, made if need be; *name is the last part. A descriptor or -errno. */
static int open_parent(int dir, const char *path, const char **name)
{
	int fd = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	char part[256];

	while (fd >= 0 && strchr(path, '/')) {
		int n = (int)strcspn(path, "/"), next;

		if (snprintf(part, sizeof(part), "%.*s", n, path) >= (int)sizeof(part)) {
			errno = ENAMETOOLONG;
			break;
		}
		if (mkdirat(fd, part, 0770) < 0 && errno != EEXIST)
			break;
		next = openat(fd, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			break;
		close(fd);
		fd = next;
		path += n + 1;
	}
	*name = path;
	if (fd >= 0 && strchr(path, '/')) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd < 0 ? -errno : fd;
}

static int write_all(int fd, const char *buf, size_t len)
{
	while (len) {
		ssize_t n = write(fd, buf, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		buf += n;
		len -= (size_t)n;
	}
	return 0;
}

static int save_file(struct moment *m, size_t i, const char *path, int dir, char *buf)
{
	const char *name;
	int parent = open_parent(dir, path, &name), fd, err = 0;
	uint64_t at = 0;
	ssize_t n;

	if (parent < 0)
		return parent;
	fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0660);
	err = fd < 0 ? -errno : 0;
	close(parent);
	while (!err && (n = moment_read(m, i, at, buf, PIECE)) != 0) {
		err = n < 0 ? (int)n : write_all(fd, buf, (size_t)n);
		at += n > 0 ? (uint64_t)n : 0;
	}
	if (fd >= 0 && close(fd) < 0 && !err)
		err = -errno;
	return err;
}

int moment_save(struct moment *m, int dir)
{
	const struct moment_file *files;
	size_t n = moment_files(m, &files);
	char *buf = malloc(PIECE);
	int err = buf ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !err; i++)
		err = save_file(m, i, files[i].path, dir, buf);
	free(buf);
	return err;
}
