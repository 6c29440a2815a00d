/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/foreign/foreign.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/base/os/cred.h"
#include "tracer/base/os/open_as.h"

struct walk {
	struct foreign *f;
	dev_t dev;
	struct tr_err *err;
	char path[1024];        /* below the input */
};

static int compare_files(const void *a, const void *b)
{
	return strcmp(((const struct import_file *)a)->path, ((const struct import_file *)b)->path);
}

/* Takes fd over. */
static int add_file(struct walk *w, int fd, const struct stat *st)
{
	struct foreign *f = w->f;
	struct import_file *more = f->files;

	if (f->file_count == IMPORT_FILES_MAX) {
		close(fd);
		return tr_fail(w->err, -EMFILE, "%s has more than %u files", f->path,
			       IMPORT_FILES_MAX);
	}
	if (!(f->file_count & (f->file_count - 1)))
		more = realloc(more, (f->file_count ? 2 * f->file_count : 1) * sizeof(*more));
	if (more) {
		f->files = more;
		more += f->file_count;
		*more = (struct import_file){ strdup(w->path), fd, (uint64_t)st->st_size,
					      st->st_mtim, 0 };
		more->ends = import_checksum_ends(more);
	}
	if (!more || !more->path) {
		close(fd);
		return tr_fail(w->err, -ENOMEM, "out of memory");
	}
	f->file_count++;
	return 0;
}

/* What precedes `/PATH` in a sentence about a file below the input. */
static const char *top_of(const struct walk *w)
{
	return strcmp(w->f->path, "/") ? w->f->path : "";
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
		return tr_fail(w->err, -EIO, "%s: cannot be read", w->f->path);
	}
	if (file_is_fuse(fd)) {
		close(fd);
		return tr_fail_at(w->err, -EINVAL, w->f->path, -1,
				  "the directory is on a FUSE file system, perhaps this one: copy "
				  "the trace first");
	}
	w->dev = st.st_dev;
	return walk_dir(w, fd, 0, 1);
}

int foreign_open_files(struct foreign *f, const struct owner *owner, struct tr_err *err)
{
	struct walk w = { .f = f, .err = err };
	struct cred cred;
	int fd, ret = cred_enter_as(owner, &cred, err);

	if (ret)
		return ret;
	fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		ret = tr_fail_at(err, -errno, f->path, -1,
				 errno == ENOTDIR
					 ? "not a directory: write the directory of a trace"
					 : "the directory cannot be read: %s",
				 strerror(errno));
	else
		ret = walk_root(&w, fd);
	cred_leave(&cred);
	cred_deinit(&cred);
	if (f->file_count)
		qsort(f->files, f->file_count, sizeof(*f->files), compare_files);
	return ret;
}

void foreign_close_files(struct foreign *f)
{
	for (size_t i = 0; i < f->file_count; i++) {
		close(f->files[i].fd);
		free(f->files[i].path);
	}
	free(f->files);
}
