/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/base/os/open_as.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LINKS_MOST 40
#define FUSE_MAGIC 0x65735546   /* FUSE_SUPER_MAGIC of the kernel */

/* ---- the path, one name at a time ---- */

struct walk {
	uid_t owner;
	int dir;                        /* the directory reached, O_PATH */
	char rest[2 * PATH_MAX];        /* of the path, still to walk */
	int links;
};

static int go_to_root(struct walk *w)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (w->dir >= 0)
		close(w->dir);
	w->dir = fd;
	return 0;
}

/* fd is a symbolic link: put its target before the rest of the path. */
static int follow_link(struct walk *w, int fd, const struct stat *st)
{
	char target[PATH_MAX], old[sizeof(w->rest)];
	ssize_t n;

	if (st->st_uid != 0 && st->st_uid != w->owner)
		return -EACCES;
	if (++w->links > LINKS_MOST)
		return -ELOOP;
	n = readlinkat(fd, "", target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = '\0';
	strcpy(old, w->rest);
	if ((size_t)snprintf(w->rest, sizeof(w->rest), "%s/%s", target, old) >= sizeof(w->rest))
		return -ENAMETOOLONG;
	return *target == '/' ? go_to_root(w) : 0;
}

/* Removes the next name from the rest of the path. False: the rest is empty. */
static bool next_name(struct walk *w, char name[NAME_MAX + 2])
{
	const char *p = w->rest + strspn(w->rest, "/");
	size_t n = strcspn(p, "/");

	/*
	 * A name that is too long is cut to a length that is still invalid, so that openat refuses
	 * it.
	 */
	snprintf(name, NAME_MAX + 2, "%.*s", (int)n, p);
	memmove(w->rest, p + n, strlen(p + n) + 1);
	return n != 0;
}

/* Leaves an O_PATH descriptor of the file in w->dir. O_PATH has no effect on devices and FIFOs. */
static int walk_path(struct walk *w, struct stat *st)
{
	char name[NAME_MAX + 2];
	int fd, ret = go_to_root(w);

	while (!ret && next_name(w, name)) {
		fd = openat(w->dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		if (fstat(fd, st)) {
			ret = -errno;
		} else if (S_ISLNK(st->st_mode)) {
			ret = follow_link(w, fd, st);
		} else {
			close(w->dir);
			w->dir = fd;
			continue;
		}
		close(fd);
	}
	return ret ? ret : fstat(w->dir, st) ? -errno : 0;
}

static int open_path(uid_t owner, const char *path)
{
	struct walk *w = calloc(1, sizeof(*w));
	char self[40];
	struct stat st;
	int fd = -1, ret;

	if (!w)
		return -ENOMEM;
	w->owner = owner;
	w->dir = -1;
	snprintf(w->rest, sizeof(w->rest), "%s", path);
	ret = walk_path(w, &st);
	if (!ret && !S_ISREG(st.st_mode))
		ret = S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	if (!ret) {
		snprintf(self, sizeof(self), "/proc/self/fd/%d", w->dir);
		fd = open(self, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		ret = fd < 0 ? -errno : 0;
	}
	if (w->dir >= 0)
		close(w->dir);
	free(w);
	return ret ? ret : fd;
}

int ownerfile_open(const struct owner *owner, const char *path, struct tr_err *err)
{
	struct cred cred;
	int fd;

	if (strlen(path) >= PATH_MAX)
		return tr_fail(err, -ENAMETOOLONG, "the path is too long");
	fd = cred_of(owner, &cred);
	if (!fd) {
		fd = cred_enter(&cred);
		if (!fd) {
			fd = open_path(owner->uid, path);
			cred_leave(&cred);
		}
		cred_deinit(&cred);
	}
	if (fd == -EISDIR || fd == -EINVAL)
		return tr_fail(err, -EINVAL, "%s is not a regular file", path);
	if (fd == -ELOOP)
		return tr_fail(err, fd, "%s: too many symbolic links", path);
	if (fd == -EACCES)
		return tr_fail(err, fd,
			       "%s: the session's owner may not read it, or another user owns a "
			       "symbolic link in the path",
			       path);
	return fd < 0 ? tr_fail(err, fd, "%s: %s", path, strerror(-fd)) : fd;
}

bool file_is_fuse(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == FUSE_MAGIC;
}
