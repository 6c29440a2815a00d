// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes an image into a directory. The caller has set the credentials (fsuid) that decide who may
 * write there. No link is followed and no existing file is overwritten.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/base/os/state_file.h"
#include "tracer/output/snapshot/images.h"

#define PIECE (256u << 10)

/*
 * Enters the first directory of the path, made if it is missing, and closes dir. A descriptor or
 * -errno.
 */
static int enter_dir(int dir, const char *path, size_t len, mode_t mode)
{
	char part[NAME_MAX + 1];
	int next = -1, err = 0;

	memcpy(part, path, len < sizeof(part) ? len : 0);
	part[len < sizeof(part) ? len : 0] = 0;
	if (len >= sizeof(part))
		err = -ENAMETOOLONG;
	else if (!len || !strcmp(part, ".."))
		err = -EINVAL;
	else if (mkdirat(dir, part, mode) < 0 && errno != EEXIST)
		err = -errno;
	else if ((next = openat(dir, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
		err = -errno;
	close(dir);
	return err ? err : next;
}

/*
 * Opens the directory of the path's last component; *name is that component. A descriptor or
 * -errno.
 */
static int open_parent(int dir, const char *path, mode_t mode, const char **name)
{
	int fd = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	const char *slash;

	if (fd < 0)
		return -errno;
	for (; fd >= 0 && (slash = strchr(path, '/')); path = slash + 1)
		fd = enter_dir(fd, path, (size_t)(slash - path), mode);
	*name = path;
	return fd;
}

static ssize_t read_piece(struct trace_image *image, size_t i, const struct image_sink *to,
			  uint64_t at, void *buf)
{
	return to->read ? to->read(to->arg, i, at, buf, PIECE)
			: image_read(image, i, at, buf, PIECE);
}

static int save_file(struct trace_image *image, size_t i, const char *path,
		     const struct image_sink *to, char *buf)
{
	const char *name;
	int parent = open_parent(to->dir, path, to->mode, &name), fd, err;
	uint64_t at = 0;
	ssize_t n = 0;

	if (parent < 0)
		return parent;
	fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    to->mode & 0666);
	err = fd < 0 ? -errno : 0;
	close(parent);
	while (!err && (n = read_piece(image, i, to, at, buf)) > 0) {
		err = write_all(fd, buf, (size_t)n);
		if (!err && to->piece)
			err = to->piece(to->arg, (uint64_t)n);
		at += (uint64_t)n;
	}
	if (!err && n < 0)
		err = (int)n;
	if (!err && to->file)
		to->file(to->arg, fcntl(fd, F_DUPFD_CLOEXEC, 0));
	if (fd >= 0 && close(fd) < 0 && !err)
		err = -errno;
	return err;
}

int image_save(struct trace_image *image, const struct image_sink *to)
{
	const struct image_file *files;
	size_t n = image_files(image, &files);
	char *buf = malloc(PIECE);
	int err = buf ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !err; i++)
		err = save_file(image, i, files[i].path, to, buf);
	free(buf);
	return err;
}
