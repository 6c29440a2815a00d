/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/output/snapshot/image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/output/output.h"

#define DEPTH_MAX 8
#define FILES_MAX 200000

struct archives {
	int dir;
	struct cred cred;
};

/* Opens a path below the directory; follows no link. */
static int open_below(int dir, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_RDONLY | O_NONBLOCK | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

int archives_open(struct session *s, struct archives **out)
{
	struct archives *a = calloc(1, sizeof(*a));
	int top = -1, err = a ? 0 : -ENOMEM;
	struct owner owner = { 0 };

	*out = NULL;
	if (err)
		return err;
	a->dir = -1;
	pthread_mutex_lock(&s->tracer->lock);
	if (s->output && s->output->started) {
		owner = session_owner(s);
		owner.uid = s->output->cred.uid;
		owner.gid = s->output->cred.gid;
		pthread_mutex_lock(&s->output->lock);
		top = s->output->dir >= 0 ? fcntl(s->output->dir, F_DUPFD_CLOEXEC, 0) : -1;
		pthread_mutex_unlock(&s->output->lock);
	}
	pthread_mutex_unlock(&s->tracer->lock);
	if (top >= 0)
		err = cred_of(&owner, &a->cred);
	if (top >= 0 && !err)
		err = cred_enter(&a->cred);
	if (top >= 0 && !err) {
		a->dir = open_below(top, "archives", O_DIRECTORY);
		cred_leave(&a->cred);
	}
	if (top >= 0)
		close(top);
	if (a->dir < 0) {
		archives_close(a);
		return err;
	}
	*out = a;
	return 0;
}

void archives_close(struct archives *a)
{
	if (!a)
		return;
	if (a->dir >= 0)
		close(a->dir);
	cred_deinit(&a->cred);
	free(a);
}

struct walk {
	int (*fn)(void *arg, const char *path, uint64_t size, int64_t mtime);
	void *arg;
	struct md_buf path;
	size_t files;
};

static int walk_dir(struct walk *w, int fd, int depth);

static int walk_one(struct walk *w, int dir, const char *name, int depth)
{
	size_t len = w->path.len;
	struct stat st;
	int fd, err = 0;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;       /* it was removed meanwhile */
	md_buf_puts(&w->path, name);
	if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX) {
		md_buf_putc(&w->path, '/');
		fd = open_below(dir, name, O_DIRECTORY);
		err = fd < 0 ? 0 : walk_dir(w, fd, depth + 1);
	} else if (S_ISREG(st.st_mode) && name[0] != '.') {
		if (w->files++ >= FILES_MAX)
			err = -EFBIG;
		else
			err = w->fn(w->arg, md_buf_str(&w->path), (uint64_t)st.st_size,
				    (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
	}
	w->path.len = len;
	return w->path.failed ? -ENOMEM : err;
}

/* Takes fd over. */
static int walk_dir(struct walk *w, int fd, int depth)
{
	DIR *d = fdopendir(fd);
	struct dirent *e;
	int err = 0;

	if (!d) {
		close(fd);
		return -ENOMEM;
	}
	while (!err && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			err = walk_one(w, dirfd(d), e->d_name, depth);
	closedir(d);
	return err;
}

int archives_each(struct archives *a,
		  int (*fn)(void *arg, const char *path, uint64_t size, int64_t mtime), void *arg)
{
	struct walk w = { .fn = fn, .arg = arg, .path = MD_BUF_INIT };
	int err = cred_enter(&a->cred), fd;

	if (err)
		return err;
	fd = openat(a->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = fd < 0 ? -errno : walk_dir(&w, fd, 0);
	cred_leave(&a->cred);
	md_buf_deinit(&w.path);
	return err;
}

ssize_t archives_read(struct archives *a, const char *path, uint64_t offset, void *buf, size_t size)
{
	struct stat st;
	ssize_t n = cred_enter(&a->cred);
	int fd;

	if (n)
		return n;
	fd = open_below(a->dir, path, 0);
	if (fd < 0)
		n = fd;
	else if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		n = -ESTALE;
	else
		n = pread(fd, buf, size, (off_t)offset);
	if (n == -1)
		n = -errno;
	if (fd >= 0)
		close(fd);
	cred_leave(&a->cred);
	return n;
}
