/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/base/os/state_file.h"

/* Guards the temporary files: two writers of one name use the same one. */
static pthread_mutex_t writers = PTHREAD_MUTEX_INITIALIZER;

int write_all(int fd, const void *buf, size_t len)
{
	const char *data = buf;

	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENOSPC;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

/* "a/b" -> "a/.b.new" */
static int name_temporary(const char *name, char *to, size_t size)
{
	const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
	int n = snprintf(to, size, "%.*s.%s.new", (int)(base - name), name, base);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

static int replace_file(int dir, const char *name, const char *temp, const void *data, size_t len)
{
	int ret,
		fd = openat(dir, temp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	ret = write_all(fd, data, len);
	if (close(fd) && !ret)
		ret = -errno;
	if (!ret && renameat(dir, temp, dir, name))
		ret = -errno;
	if (ret)
		unlinkat(dir, temp, 0);
	return ret;
}

int state_file_write(int dir, const char *name, const void *data, size_t len)
{
	char temp[PATH_MAX];
	int ret = name_temporary(name, temp, sizeof(temp));

	if (ret)
		return ret;
	pthread_mutex_lock(&writers);
	ret = replace_file(dir, name, temp, data, len);
	pthread_mutex_unlock(&writers);
	return ret;
}

static int read_all(int fd, size_t max, struct md_buf *out)
{
	size_t begin = out->len;

	for (;;) {
		size_t got = out->len - begin, want = max - got < 65536 ? max - got + 1 : 65536;
		char *p = md_buf_room(out, want);
		ssize_t n;

		if (!p)
			return -ENOMEM;
		n = read(fd, p, want);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : 0;
		out->len += (size_t)n;
		if (out->len - begin > max)
			return -EFBIG;
	}
}

int state_file_read(int dir, const char *name, size_t max, struct md_buf *out)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), ret;
	size_t begin = out->len;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		ret = -errno;
	else if (!S_ISREG(st.st_mode))
		ret = -EINVAL;
	else
		ret = st.st_size > 0 && (uint64_t)st.st_size > max ? -EFBIG
								   : read_all(fd, max, out);
	close(fd);
	if (ret)
		out->len = begin;
	return ret;
}

static int make_dir(const char *path, unsigned int mode, bool last)
{
	struct stat st;

	if (!mkdir(path, last ? mode : 0755))
		/* The mode is part of the interface (1777 of apps), whatever the umask is. */
		return last && chmod(path, mode) ? -errno : 0;
	if (errno != EEXIST)
		/*
		 * An existing parent on a read-only file system fails with another errno: check it.
		 */
		return !stat(path, &st) && S_ISDIR(st.st_mode) ? 0 : -errno;
	if (stat(path, &st))
		return -errno;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

int state_file_mkdir(const char *path, unsigned int mode)
{
	char *copy = strdup(path), *p;
	int ret = 0;

	if (!copy)
		return -ENOMEM;
	for (p = copy + strlen(copy); p > copy + 1 && p[-1] == '/'; p--)
		p[-1] = '\0';
	for (p = copy + strspn(copy, "/"); *p && !ret; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		ret = make_dir(copy, mode, false);
		*p = '/';
	}
	if (!ret)
		ret = make_dir(copy, mode, true);
	free(copy);
	return ret;
}

static int remove_below(int dir, const char *name, int depth);

/* One pass over an open directory. *removed: there were entries, so another pass is needed. */
static int remove_entries(DIR *d, int depth, bool *removed)
{
	struct dirent *e;
	int ret = 0;

	*removed = false;
	while (!ret && (e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		*removed = true;
		if (unlinkat(dirfd(d), e->d_name, 0) && errno != ENOENT) {
			if (errno != EISDIR && errno != EPERM)
				ret = -errno;
			else
				ret = depth ? remove_below(dirfd(d), e->d_name, depth - 1)
					    : -ENOTEMPTY;
		}
	}
	return ret;
}

static int remove_below(int dir, const char *name, int depth)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), ret;
	bool removed;
	DIR *d;

	if (fd < 0)
		return -errno;
	d = fdopendir(fd);
	if (!d) {
		ret = -errno;
		close(fd);
		return ret;
	}
	/* Removing entries may make readdir skip others: repeat until a pass finds none. */
	do {
		rewinddir(d);
		ret = remove_entries(d, depth, &removed);
	} while (!ret && removed);
	closedir(d);
	if (!ret && unlinkat(dir, name, AT_REMOVEDIR))
		ret = -errno;
	return ret;
}

int state_file_remove(int dir, const char *name)
{
	if (!unlinkat(dir, name, 0))
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	return remove_below(dir, name, 1);
}
