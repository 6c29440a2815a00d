/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: fuse3 pthread */
/*
 * faultfs DIRECTORY CONTROL MOUNTPOINT [-f …]: a file system that shows a directory, and fails on
 * command. CONTROL is a file that is looked at before each operation; it has lines `WHAT HOW`:
 *
 *	WHAT    write, cut (truncate), make (files, directories), rename (and unlink), sync, read
 *		(and open), all; or a PATH, as seen below MOUNTPOINT: its attributes
 *	HOW     EIO, ENOSPC, EACCES; or hang: until the line is gone
 */
#define FUSE_USE_VERSION 31
#define _FILE_OFFSET_BITS 64
#include <fuse3/fuse.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int top;
static const char *control;

/* 0, -errno, or 1: it hangs. */
static int verdict(const char *what)
{
	char op[64], how[16];
	FILE *f = fopen(control, "re");
	int ret = 0;

	while (f && !ret && fscanf(f, "%63s %15s", op, how) == 2) {
		if (strcmp(op, what) && strcmp(op, "all"))
			continue;
		ret = !strcmp(how, "hang")     ? 1
		      : !strcmp(how, "ENOSPC") ? -ENOSPC
		      : !strcmp(how, "EACCES") ? -EACCES
					       : -EIO;
	}
	if (f)
		fclose(f);
	return ret;
}

static int fails(const char *what)
{
	int ret;

	while ((ret = verdict(what)) == 1)
		usleep(10000);
	return ret;
}

static const char *below(const char *path)
{
	return path[1] ? path + 1 : ".";
}

static int done(long ret)
{
	return ret < 0 ? -errno : (int)ret;
}

static void *f_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
	(void)conn;
	config->use_ino = 1;
	config->hard_remove = 1;
	config->nullpath_ok = 0;
	config->attr_timeout = config->entry_timeout = config->negative_timeout = 0;
	return NULL;
}

static int f_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	int err = fails("getattr");

	err = err ? err : fails(path);
	if (err)
		return err;
	return done(fi ? fstat((int)fi->fh, st)
		       : fstatat(top, below(path), st, AT_SYMLINK_NOFOLLOW));
}

static int f_readlink(const char *path, char *buf, size_t size)
{
	ssize_t n = readlinkat(top, below(path), buf, size - 1);

	if (n >= 0)
		buf[n] = 0;
	return n < 0 ? -errno : 0;
}

static int f_mkdir(const char *path, mode_t mode)
{
	int err = fails("make");

	return err ? err : done(mkdirat(top, below(path), mode));
}

static int f_unlink(const char *path)
{
	int err = fails("rename");

	return err ? err : done(unlinkat(top, below(path), 0));
}

static int f_rmdir(const char *path)
{
	int err = fails("rename");

	return err ? err : done(unlinkat(top, below(path), AT_REMOVEDIR));
}

static int f_rename(const char *from, const char *to, unsigned int flags)
{
	int err = fails("rename");

	return err ? err : done(renameat2(top, below(from), top, below(to), flags));
}

static int f_chmod(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	return done(fi ? fchmod((int)fi->fh, mode) : fchmodat(top, below(path), mode, 0));
}

static int f_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
	int err = fails("cut"), fd;

	if (err)
		return err;
	if (fi)
		return done(ftruncate((int)fi->fh, size));
	fd = openat(top, below(path), O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = done(ftruncate(fd, size));
	close(fd);
	return err;
}

static int f_open(const char *path, struct fuse_file_info *fi)
{
	int err = fails("read"),
	    fd = err ? -1 : openat(top, below(path), (fi->flags & ~O_NOFOLLOW) | O_CLOEXEC);

	fi->fh = (uint64_t)fd;
	return err ? err : fd < 0 ? -errno : 0;
}

static int f_create(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	int err = fails("make"),
	    fd = err ? -1 : openat(top, below(path), fi->flags | O_CREAT | O_CLOEXEC, mode);

	fi->fh = (uint64_t)fd;
	return err ? err : fd < 0 ? -errno : 0;
}

static int f_read(const char *path, char *buf, size_t size, off_t at, struct fuse_file_info *fi)
{
	int err = fails("read");

	(void)path;
	return err ? err : done(pread((int)fi->fh, buf, size, at));
}

static int f_write(const char *path, const char *buf, size_t size, off_t at,
		   struct fuse_file_info *fi)
{
	int err = fails("write");

	(void)path;
	/* As a disk that gets full: half of it is there. */
	if (err && size > 1000)
		return done(pwrite((int)fi->fh, buf, size / 2, at));
	return err ? err : done(pwrite((int)fi->fh, buf, size, at));
}

static int f_fsync(const char *path, int data, struct fuse_file_info *fi)
{
	int err = fails("sync");

	(void)path, (void)data, (void)fi;
	return err;
}

static int f_release(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	close((int)fi->fh);
	return 0;
}

static int f_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t at,
		     struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
	int fd = openat(top, below(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	(void)at, (void)fi, (void)flags;
	if (!d)
		return -errno;
	while ((e = readdir(d)) && !fill(buf, e->d_name, NULL, 0, 0))
		;
	closedir(d);
	return 0;
}

static int f_access(const char *path, int mode)
{
	return done(faccessat(top, below(path), mode, 0));
}

static const struct fuse_operations operations = {
	.init = f_init,
	.getattr = f_getattr,
	.readlink = f_readlink,
	.mkdir = f_mkdir,
	.unlink = f_unlink,
	.rmdir = f_rmdir,
	.rename = f_rename,
	.chmod = f_chmod,
	.truncate = f_truncate,
	.open = f_open,
	.create = f_create,
	.read = f_read,
	.write = f_write,
	.fsync = f_fsync,
	.fsyncdir = f_fsync,
	.release = f_release,
	.readdir = f_readdir,
	.access = f_access,
};

int main(int argc, char **argv)
{
	if (argc < 4 || (top = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
		fprintf(stderr, "usage: faultfs DIRECTORY CONTROL MOUNTPOINT [-f ...]\n");
		return 2;
	}
	control = argv[2];
	umask(0);
	argv[2] = argv[0];
	return fuse_main(argc - 2, argv + 2, &operations, NULL);
}
