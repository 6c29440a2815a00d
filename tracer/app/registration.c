/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registration files in the daemon's hands: opening, watching, switching. See app/registration.h;
 * app/parse.c reads their contents.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tracer/app/app.h"
#include "tracer/app/layout.h"
#include "tracer/app/parse.h"
#include "tracer/base/os/clock.h"

#define NS 1000000000ll
#define JUNK_AT_ONCE 256        /* entries of a directory: tracer.lock is held */
#define MISSED_NS 4     /* a hit is counted by a locked addition, which takes at least as long */

/*
 * Opens dir/name itself: no link, and nothing that is mounted over it. (fusermount lets users mount
 * over their own files, and a FUSE file answers when its owner likes: the daemon would hang.)
 */
static int open_in(int dir, const char *name, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_NOFOLLOW | O_CLOEXEC),
		.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH,
	};
	int fd = (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));

	/* A kernel before 5.6, or a sandbox that does not know it. */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = openat(dir, name, flags | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static const char *check_stat(const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return "not a regular file";
	if (st->st_nlink != 1)
		return "the file has several links";
	if (st->st_size < (off_t)sizeof(struct trail_reg))
		return "the file is too short";
	if (st->st_size > (off_t)TRAIL_REG_SIZE_MAX)
		return "the file is too long";
	return NULL;
}

/*
 * Opens for reading and writing with the rights of the file's owner, so that a user cannot make
 * root write to a file that the user may not write. fsuid and fsgid are the calling thread's own;
 * without root's rights both calls do nothing.
 */
static int open_as(int dir, const char *name, const struct stat *owner)
{
	int fd, gid = setfsgid(owner->st_gid), uid = setfsuid(owner->st_uid);

	/* An owner that our user namespace does not know cannot be acted for. */
	if ((uid_t)setfsuid((uid_t)-1) != owner->st_uid)
		fd = -EACCES;
	else
		fd = open_in(dir, name, O_RDWR | O_NONBLOCK | O_NOCTTY);
	setfsuid((uid_t)uid);
	setfsgid((gid_t)gid);
	return fd;
}

/*
 * True if the file still has its hidden name beside this one: some file systems, and programs that
 * use link(2) and unlink(2), rename it in two steps.
 */
static bool is_being_named(int dir, const char *name, const struct stat *st)
{
	char hidden[64];
	struct stat twin;

	return st->st_nlink == 2 &&
	       snprintf(hidden, sizeof(hidden), ".%s", name) < (int)sizeof(hidden) &&
	       !fstatat(dir, hidden, &twin, AT_SYMLINK_NOFOLLOW) && twin.st_ino == st->st_ino &&
	       twin.st_dev == st->st_dev;
}

/* Returns the descriptor, or -errno with a reason for -EBADMSG. */
static int open_checked(int dir, const char *name, struct stat *st, const char **reason)
{
	struct stat before;
	int fd = open_in(dir, name, O_PATH), ret;

	if (fd < 0)
		return fd;
	/* Does not open the file: a FIFO or a lease notices nothing. */
	ret = fstat(fd, &before) ? -errno : 0;
	close(fd);
	if (ret)
		return ret;
	/* The process ended after the file was opened, and before its status was read. */
	if (!before.st_nlink)
		return -ENOENT;
	if (is_being_named(dir, name, &before))
		return -EAGAIN;
	*reason = check_stat(&before);
	if (*reason)
		return -EBADMSG;
	fd = open_as(dir, name, &before);
	if (fd < 0)
		return fd;
	if (fstat(fd, st)) {
		ret = -errno;
		close(fd);
		return ret;
	}
	if (!st->st_nlink) {
		close(fd);
		return -ENOENT;
	}
	*reason = check_stat(st);
	if (!*reason && (st->st_dev != before.st_dev || st->st_ino != before.st_ino ||
			 st->st_uid != before.st_uid))
		*reason = "the file was replaced meanwhile";
	if (*reason) {
		close(fd);
		return -EBADMSG;
	}
	return fd;
}

static int read_whole(int fd, uint8_t *data, size_t size, const char **reason)
{
	size_t got = 0;

	while (got < size) {
		ssize_t n = pread(fd, data + got, size - got, (off_t)got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n) {
			*reason = "the file was truncated meanwhile";
			return -EBADMSG;
		}
		got += (size_t)n;
	}
	return 0;
}

/* Reads the whole file and parses it. Returns -EBADMSG with a reason, or another -errno. */
static int parse_file(struct layouts *known, struct registration *r, int fd, size_t size,
		      const char **reason)
{
	uint8_t *data = malloc(size);
	int ret = data ? read_whole(fd, data, size, reason) : -ENOMEM;

	if (!ret)
		ret = registration_parse(r, data, size, reason);
	if (ret) {
		free(data);
		return ret;
	}
	ret = layout_create(known, r, data, size);
	if (ret)
		registration_forget(r);
	return ret;
}

int registration_open(struct layouts *known, int dir, const char *name, struct registration **out,
		      const char **reason)
{
	struct registration *r;
	struct stat st;
	int fd, ret;

	*reason = NULL;
	fd = open_checked(dir, name, &st, reason);
	if (fd < 0)
		return fd;
	r = calloc(1, sizeof(*r));
	ret = r ? 0 : -ENOMEM;
	if (!ret) {
		*r = (struct registration){
			.fd = -1, .uid = st.st_uid, .dev = st.st_dev, .ino = st.st_ino
		};
		ret = layout_find(known, r, fd, (size_t)st.st_size);
	}
	if (ret == -ENOENT)
		ret = parse_file(known, r, fd, (size_t)st.st_size, reason);
	if (ret) {
		free(r);
		close(fd);
		return ret;
	}
	r->fd = fd;
	*out = r;
	return 0;
}

void registration_forget(struct registration *r)
{
	uint32_t i;

	for (i = 0; i < r->event_count; i++)
		free(r->events[i].name);
	free(r->events);
	free(r->fields);
	free(r->enums);
	free(r->labels);
	free(r->strings);
	free(r->object);
	free(r->clock);
	r->clock = NULL;
	r->events = NULL;
	r->fields = NULL;
	r->enums = NULL;
	r->labels = NULL;
	r->strings = r->object = NULL;
	r->event_count = r->refused_count = r->field_count = r->enum_count = r->label_count = 0;
}

void registration_close(struct registration *r)
{
	if (!r)
		return;
	layout_put(r->layout);
	if (r->fd >= 0)
		close(r->fd);
	free(r);
}

bool registration_removed(const struct registration *r)
{
	struct stat st;

	return fstat(r->fd, &st) || !st.st_nlink;
}

bool registration_may_lack_lock(const struct registration *r)
{
	struct statfs fs;

	return !fstatfs(r->fd, &fs) && fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

bool registration_gone(const struct registration *r)
{
	if (registration_removed(r))
		return true;
	/*
	 * Shared, so that root's daemon and the user's do not take each other for the application.
	 */
	if (flock(r->fd, LOCK_SH | LOCK_NB))
		return false;
	flock(r->fd, LOCK_UN);
	return true;
}

int registration_switch(const struct registration *r, uint32_t event, unsigned int lane,
			uint8_t value)
{
	ssize_t n;

	if (event >= r->event_count || lane >= sizeof(uint32_t))
		return -EINVAL;
	do
		n = pwrite(r->fd, &value, 1,
			   (off_t)r->state_offset + (off_t)event * 4 + (off_t)lane);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n == 1 ? 0 : -EIO;
}

/* Entries of a table with one for each event. Returns how many could be read. */
static uint32_t read_entries(const struct registration *r, uint32_t table, uint32_t first,
			     void *out, uint32_t max, size_t unit)
{
	uint32_t n = first < r->event_count ? r->event_count - first : 0;

	n = n < max ? n : max;
	if (!n || pread(r->fd, out, n * unit, (off_t)(table + first * unit)) != (ssize_t)(n * unit))
		return 0;
	return n;
}

uint32_t registration_words(const struct registration *r, uint32_t first, uint32_t *out,
			    uint32_t max)
{
	return read_entries(r, r->state_offset, first, out, max, sizeof(*out));
}

uint32_t registration_missed(const struct registration *r, uint32_t first, uint64_t *out,
			     uint32_t max)
{
	return r->missed_offset ? read_entries(r, r->missed_offset, first, out, max, sizeof(*out))
				: 0;
}

/* The nanoseconds since the file was made; since the system was started where that is not known. */
static uint64_t age_of(const struct registration *r)
{
	struct timespec boot = { 0 };
	struct statx st;
	int64_t up, age;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	up = boot.tv_sec * NS + boot.tv_nsec;
	if (statx(r->fd, "", AT_EMPTY_PATH, STATX_BTIME, &st) || !(st.stx_mask & STATX_BTIME))
		return (uint64_t)up;
	age = wall_clock() - (st.stx_btime.tv_sec * NS + st.stx_btime.tv_nsec);
	return (uint64_t)(age < 0 || age > up ? up : age);
}

uint64_t registration_most_missed(const struct registration *r)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	return age_of(r) / MISSED_NS * (cpus > 0 ? (uint64_t)cpus : 1) + 1;
}

int registration_remove_stale(int dir, const char *name, unsigned int seconds)
{
	struct stat before, st;
	int64_t age;
	int fd, err;

	if (fstatat(dir, name, &before, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (!S_ISREG(before.st_mode))
		return -EINVAL;
	fd = open_in(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return fd;
	err = fstat(fd, &st) ? -errno : 0;
	age = wall_clock() / NS - st.st_mtim.tv_sec;
	if (!err && (st.st_ino != before.st_ino || (age >= 0 && age < seconds)))
		err = -EAGAIN;
	/* Shared, as in registration_gone(). The kernel drops a lock when its process ends. */
	if (!err && flock(fd, LOCK_SH | LOCK_NB))
		err = -EBUSY;
	if (!err && unlinkat(dir, name, 0))
		err = -errno;
	close(fd);
	return err;
}

/*
 * Removes entries of a directory that a user made. One that has entries itself takes the place
 * beside it, for the next scan, so that depth costs nothing.
 */
static void empty_directory(int parent, const char *name, DIR *d)
{
	struct dirent *e;
	int left = JUNK_AT_ONCE;
	char moved[32];

	while (left-- && (e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    !unlinkat(dirfd(d), e->d_name, 0) ||
		    !unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR))
			continue;
		snprintf(moved, sizeof(moved), "junk-%d-%.16s", left, name);
		renameat2(dirfd(d), e->d_name, parent, moved, RENAME_NOREPLACE);
	}
}

int registration_remove_junk(int dir, const char *name)
{
	DIR *d;
	int fd;

	if (!unlinkat(dir, name, 0))
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	if (!unlinkat(dir, name, AT_REMOVEDIR))
		return 0;
	if (errno != ENOTEMPTY)
		return -errno;
	fd = open_in(dir, name, O_RDONLY | O_DIRECTORY);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		if (fd >= 0)
			close(fd);
		return fd < 0 ? fd : -ENOMEM;
	}
	empty_directory(dir, name, d);
	closedir(d);
	return !unlinkat(dir, name, AT_REMOVEDIR) ? 0 : errno == ENOTEMPTY ? -EAGAIN : -errno;
}
