/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/import/import.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/base/os/cred.h"
#include "tracer/base/os/open_as.h"
#include "tracer/base/ring/seal.h"

#define END_BYTES 2048u         /* of each end of a file that tell whether it has only grown */

struct walk {
	struct import *im;
	dev_t dev;
	struct tr_err *err;
	char path[1024];        /* below the input */
};

static int compare_files(const void *a, const void *b)
{
	return strcmp(((const struct import_file *)a)->path, ((const struct import_file *)b)->path);
}

/* Of the first and the last bytes, up to the size that the file had at its open. */
static uint32_t checksum_ends(const struct import_file *f)
{
	uint8_t bytes[2 * END_BYTES] = { 0 };
	size_t n = f->size < END_BYTES ? (size_t)f->size : END_BYTES;

	if (pread(f->fd, bytes, n, 0) != (ssize_t)n ||
	    pread(f->fd, bytes + END_BYTES, n, (off_t)(f->size - n)) != (ssize_t)n)
		return 0;
	return seal_checksum(bytes, sizeof(bytes));
}

/* Takes fd over. */
static int add_file(struct walk *w, int fd, const struct stat *st)
{
	struct import *im = w->im;
	struct import_file *more = im->files;

	if (im->file_count == IMPORT_FILES_MAX) {
		close(fd);
		return tr_fail(w->err, -EMFILE, "%s has more than %u files", im->path,
			       IMPORT_FILES_MAX);
	}
	if (!(im->file_count & (im->file_count - 1)))
		more = realloc(more, (im->file_count ? 2 * im->file_count : 1) * sizeof(*more));
	if (more) {
		im->files = more;
		more += im->file_count;
		*more = (struct import_file){ strdup(w->path), fd, (uint64_t)st->st_size,
					      st->st_mtim, 0 };
		more->ends = checksum_ends(more);
	}
	if (!more || !more->path) {
		close(fd);
		return tr_fail(w->err, -ENOMEM, "out of memory");
	}
	im->file_count++;
	return 0;
}

/* What precedes `/PATH` in a sentence about a file below the input. */
static const char *top_of(const struct walk *w)
{
	return strcmp(w->im->path, "/") ? w->im->path : "";
}

static int walk_dir(struct walk *w, int fd, size_t len, unsigned int depth);

/* One entry of a directory; other things than files and directories are left out. */
static int walk_entry(struct walk *w, int dir, const char *name, size_t len, unsigned int depth)
{
	size_t n = strlen(name);
	struct stat st;
	int fd;

	if (len + n + 2 > sizeof(w->path))
		return tr_fail(w->err, -ENAMETOOLONG, "%s/%s: the path of a file is too long",
			       top_of(w), w->path);
	memcpy(w->path + len, name, n + 1);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return 0;       /* removed meanwhile */
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return 0;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return tr_fail(w->err, -errno, "%s/%s: %s", top_of(w), w->path, strerror(errno));
	if (fstat(fd, &st) || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))) {
		close(fd);
		return 0;
	}
	if (st.st_dev != w->dev) {
		close(fd);
		return tr_fail(w->err, -EXDEV, "%s/%s: is on another file system", top_of(w),
			       w->path);
	}
	if (S_ISREG(st.st_mode))
		return add_file(w, fd, &st);
	if (depth == IMPORT_DEPTH_MAX) {
		close(fd);
		return tr_fail(w->err, -ELOOP, "%s/%s: more than %u directories deep", top_of(w),
			       w->path, IMPORT_DEPTH_MAX);
	}
	w->path[len + n] = '/';
	return walk_dir(w, fd, len + n + 1, depth + 1);
}

/* Takes fd over. */
static int walk_dir(struct walk *w, int fd, size_t len, unsigned int depth)
{
	DIR *dir = fdopendir(fd);
	struct dirent *d;
	int ret = 0;

	if (!dir) {
		close(fd);
		return tr_fail(w->err, -ENOMEM, "out of memory");
	}
	while (!ret && (d = readdir(dir)))
		if (d->d_name[0] != '.')
			ret = walk_entry(w, dirfd(dir), d->d_name, len, depth);
	closedir(dir);
	return ret;
}

/* Takes fd over: a directory. */
static int walk_root(struct walk *w, int fd)
{
	struct stat st;

	if (fstat(fd, &st)) {
		close(fd);
		return tr_fail(w->err, -EIO, "%s: cannot be read", w->im->path);
	}
	if (file_is_fuse(fd)) {
		close(fd);
		return tr_fail_at(w->err, -EINVAL, w->im->path, -1,
				  "the directory is on a FUSE file system, perhaps this one: copy "
				  "the trace first");
	}
	w->dev = st.st_dev;
	return walk_dir(w, fd, 0, 1);
}

int import_open_files(struct import *im, const struct owner *owner, struct tr_err *err)
{
	struct walk w = { .im = im, .err = err };
	struct cred cred;
	int fd, ret = cred_of(owner, &cred);

	if (ret)
		return tr_fail(err, ret, "out of memory");
	ret = cred_enter(&cred);
	if (ret) {
		cred_deinit(&cred);
		return tr_fail(err, ret, "cannot enter the rights of user %u",
			       (unsigned int)owner->uid);
	}
	fd = open(im->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		ret = tr_fail_at(err, -errno, im->path, -1,
				 errno == ENOTDIR
					 ? "not a directory: write the directory of a trace"
					 : "the directory cannot be read: %s",
				 strerror(errno));
	else
		ret = walk_root(&w, fd);
	cred_leave(&cred);
	cred_deinit(&cred);
	if (im->file_count)
		qsort(im->files, im->file_count, sizeof(*im->files), compare_files);
	return ret;
}

void import_close_files(struct import *im)
{
	for (size_t i = 0; i < im->file_count; i++) {
		close(im->files[i].fd);
		free(im->files[i].path);
	}
	free(im->files);
}

/* Whether the file is as it was when it was opened, or a writer has added to it. */
static bool is_same(const struct import_file *f)
{
	struct stat st;

	if (fstat(f->fd, &st) || (uint64_t)st.st_size < f->size)
		return false;
	if (st.st_mtim.tv_sec == f->changed.tv_sec && st.st_mtim.tv_nsec == f->changed.tv_nsec)
		return (uint64_t)st.st_size == f->size;
	/* A file that was replaced, and has grown since, has other bytes there in most cases. */
	return (uint64_t)st.st_size > f->size && checksum_ends(f) == f->ends;
}

int import_read(const struct import *im, struct tr_err *err, const struct import_file *f,
		uint64_t offset, void *buf, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t r = pread(f->fd, (char *)buf + done, n - done, (off_t)(offset + done));

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0) {
			r = -errno;
			import_fail(im, err, f, offset + done, "%s", strerror((int)-r));
			return (int)r;
		}
		if (!r)
			break;
		done += (size_t)r;
	}
	if (done == n && is_same(f))
		return 0;
	import_fail(im, err, f, offset,
		    "the file has changed since it was opened; write the path to `input` again");
	return -ESTALE;
}
