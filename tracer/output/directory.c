/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/output/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/base/os/cred.h"
#include "tracer/session/session.h"

#define LINKS_MAX 40

const char *output_dir_path(const char *value)
{
	return strncmp(value, "file:///", 8) ? value : value + 7;
}

int output_dir_check(const char *path, struct tr_err *err)
{
	size_t n = strlen(path);

	if (n > OUTPUT_DIR_PATH_MAX)
		return tr_fail(err, -ENAMETOOLONG, "a path of more than %d bytes",
			       OUTPUT_DIR_PATH_MAX);
	if (path[0] != '/')
		return tr_fail_at(err, -EINVAL, path, 0,
				  "must be an absolute path, 'default', empty, or begin with "
				  "net://, net6://, tcp:// or tcp6://");
	for (const char *p = path; (p = strstr(p, "/..")); p += 3)
		if (p[3] == '/' || !p[3])
			return tr_fail_at(err, -EINVAL, path, (int)(p - path) + 1,
					  "write a path without '..'");
	for (const char *p = path; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return tr_fail_at(err, -EINVAL, path, (int)(p - path),
					  "write a path without control characters");
	return 0;
}

/* Replaces the rest of the path by the link's target and the old rest. */
static int follow_link(int at, const struct stat *st, uid_t owner, char *rest, size_t size)
{
	char target[PATH_MAX], *after_link;
	ssize_t n;

	if (st->st_uid != 0 && st->st_uid != owner)
		return -ELOOP;
	n = readlinkat(at, "", target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = 0;
	after_link = strdup(rest);
	if (!after_link)
		return -ENOMEM;
	n = snprintf(rest, size, "%s/%s", target, after_link);
	free(after_link);
	return (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* Enters the first component of rest: replaces *at by its descriptor. */
static int enter_next(int *at, char *rest, size_t size, uid_t owner, bool make, mode_t mode,
		      int *links)
{
	char name[NAME_MAX + 1];
	size_t len = strcspn(rest, "/");
	bool last = !rest[len + strspn(rest + len, "/")];
	struct stat st;
	int next, err = 0;

	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, rest, len);
	name[len] = 0;
	memmove(rest, rest + len, strlen(rest + len) + 1);
	next = openat(*at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (next < 0 && errno == ENOENT && make) {
		if (mkdirat(*at, name, last ? mode : mode | 0700) < 0 && errno != EEXIST)
			return -errno;
		next = openat(*at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	}
	if (next < 0)
		return -errno;
	if (fstat(next, &st) < 0)
		err = -errno;
	else if (S_ISLNK(st.st_mode))
		err = ++*links > LINKS_MAX ? -ELOOP : follow_link(next, &st, owner, rest, size);
	else if (!S_ISDIR(st.st_mode))
		err = -ENOTDIR;
	if (!err && !S_ISLNK(st.st_mode)) {
		close(*at);
		*at = next;
		return 0;
	}
	close(next);
	if (err || rest[0] != '/')
		return err;
	next = open("/", O_PATH | O_CLOEXEC);
	if (next < 0)
		return -errno;
	close(*at);
	*at = next;
	return 0;
}

int output_dir_open(const char *path, uid_t owner, bool make, mode_t mode, struct tr_err *err)
{
	char rest[PATH_MAX];
	int at = open("/", O_PATH | O_CLOEXEC), fd, ret = at < 0 ? -errno : 0, links = 0;

	snprintf(rest, sizeof(rest), "%s", path);
	while (!ret) {
		memmove(rest, rest + strspn(rest, "/"), strlen(rest + strspn(rest, "/")) + 1);
		if (!rest[0])
			break;
		ret = enter_next(&at, rest, sizeof(rest), owner, make, mode, &links);
	}
	fd = ret ? ret : openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!ret && fd < 0)
		ret = -errno;
	if (at >= 0)
		close(at);
	if (ret == -ELOOP)
		return tr_fail_at(err, -EACCES, path, -1,
				  "the path has a symbolic link that belongs to another user");
	return ret ? tr_fail_at(err, ret, path, -1, "the directory cannot be used: %s",
				strerror(-ret))
		   : fd;
}

static int open_sub(int dir, const char *path, uid_t owner, bool make, mode_t mode)
{
	char name[NAME_MAX + 1];
	int at = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), next, err = 0;
	struct stat st;

	while (at >= 0 && *path) {
		size_t len = strcspn(path, "/");

		if (len > NAME_MAX) {
			close(at);
			return -ENAMETOOLONG;
		}
		memcpy(name, path, len);
		name[len] = 0;
		path += len + strspn(path + len, "/");
		next = -1;
		if (make && mkdirat(at, name, mode) < 0 && errno != EEXIST)
			err = -errno;
		else if ((next = openat(at, name,
					O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0 ||
			 fstat(next, &st) < 0)
			err = -errno;
		else if (st.st_uid != owner)
			err = -EPERM;
		close(at);
		if (err && next >= 0)
			close(next);
		if (err)
			return err;
		at = next;
	}
	return at < 0 ? -errno : at;
}

int output_dir_sub(int dir, const char *path, uid_t owner, mode_t mode)
{
	return open_sub(dir, path, owner, true, mode);
}

int output_dir_find(int dir, const char *path, uid_t owner)
{
	return open_sub(dir, path, owner, false, 0);
}

/* Whether the directory has a trace. */
static bool has_trace(int dir)
{
	static const char *const names[] = { "kernel", "ust", "archives", "snapshots", "metadata" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (faccessat(dir, names[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	return false;
}

void output_dir_remove(int dir, const char *name, int deep)
{
	int fd = deep ? openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (fd >= 0 && !d)
		close(fd);
	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") &&
		    unlinkat(fd, e->d_name, 0) < 0)
			output_dir_remove(fd, e->d_name, deep - 1);
	if (d)
		closedir(d);
	unlinkat(dir, name, AT_REMOVEDIR);
}

struct output_owner output_owner_of(const struct session *s)
{
	return (struct output_owner){
		.owner = session_owner(s), .mode = 0700 | (s->mode & 0055)
	};
}

int output_dir_make(const char *path, const struct output_owner *of, bool unused,
		    struct tr_err *err)
{
	struct cred cred;
	int fd, ret = cred_enter_as(&of->owner, &cred, err);

	if (ret)
		return ret;
	fd = output_dir_open(path, of->owner.uid, true, of->mode, err);
	if (fd >= 0 && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0) {
		ret = -errno;
		tr_fail_at(err, ret, path, -1, "the directory cannot be written: %s",
			   strerror(-ret));
	} else if (fd >= 0 && unused && has_trace(fd)) {
		ret = tr_fail_at(err, -EEXIST, path, -1,
				 "there is a trace in this directory already: "
				 "name another one, or remove the trace");
	}
	cred_leave(&cred);
	cred_deinit(&cred);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}
