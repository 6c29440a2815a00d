// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The directories of registrations: which there are, how much may be in them, and what users put
 * there that is no registration. All users may write to the system's, so root's daemon mounts a
 * file system of bounded size on it: the state directory is beside it, and must have room.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/app/app.h"

#define SYSTEM_APPS "/run/trailfs/apps"
#define BYTES_PER_FILE 2048u    /* more files than that are no registrations */

/* Below that, registrations of usual programs do not fit. */
#define ROOM_LEAST (64 * 1024u)

/* ---- a file system of its own ---- */

static int open_directory(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* A user may take half of it, where the kernel has quotas for it (Linux 6.6, if configured). */
static int mount_over(int dir, uint64_t size)
{
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
	uint64_t files = size / BYTES_PER_FILE + 16;
	char path[32], all[100], each[220];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
	snprintf(all, sizeof(all), "mode=1777,size=%" PRIu64 ",nr_inodes=%" PRIu64, size, files);
	snprintf(each, sizeof(each),
		 "%s,usrquota,usrquota_block_hardlimit=%" PRIu64
		 ",usrquota_inode_hardlimit=%" PRIu64,
		 all, size / 2, files / 2);
	return mount("trailfs", path, "tmpfs", flags, each) &&
			       mount("trailfs", path, "tmpfs", flags, all)
		       ? -errno
		       : 0;
}

/*
 * What is below a file system that is mounted on the directory: programs that registered before
 * have their files there, and containers may see no other. -errno: it cannot be reached.
 */
static int open_covered(const struct tracer *t)
{
	int fd, tree = (int)syscall(SYS_open_tree, t->state_fd, "",
				    AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0)
		return -errno;
	fd = open_directory(tree, "apps");
	close(tree);
	return fd;
}

/* Without the right to mount, or a descriptor, only the report differs. */
static void bound_directory(struct tracer *t)
{
	struct stat state, apps;
	int err, fd;

	if (fstat(t->state_fd, &state) || fstat(apps_of(t)->fds[0], &apps))
		return;
	if (state.st_dev != apps.st_dev) {
		/* An earlier daemon's, or the administrator's. */
		fd = open_covered(t);
		apps_of(t)->fds[1] = fd < 0 ? -1 : fd;
		return;
	}
	if (!t->config.apps_size)
		return;
	err = mount_over(apps_of(t)->fds[0], t->config.apps_size);
	if (err) {
		tracer_report(t,
			      "%s/apps has no file system of its own, so any user can fill the "
			      "state directory: %s",
			      t->state_dir, strerror(-err));
		return;
	}
	apps_of(t)->mounted = true;
	fd = open_directory(t->state_fd, "apps");
	if (fd < 0)
		return;
	apps_of(t)->fds[1] = apps_of(t)->fds[0];
	apps_of(t)->fds[0] = fd;
}

static bool has_system_directory(const struct tracer *t)
{
	/* A private directory is for tests. */
	return t->lane != TRAIL_LANE_ROOT && !getenv("TRAIL_RUNTIME_DIR");
}

void apps_open(struct tracer *t)
{
	int fd;

	apps_begin_generations(t);
	if (t->lane == TRAIL_LANE_ROOT)
		bound_directory(t);
	if (!has_system_directory(t))
		return;
	fd = open_directory(AT_FDCWD, SYSTEM_APPS);
	apps_of(t)->fds[1] = fd < 0 ? -1 : fd;
}

bool apps_look_again(struct tracer *t)
{
	int fd = has_system_directory(t) ? open_directory(AT_FDCWD, SYSTEM_APPS) : -1;
	struct stat now, before;

	if (fd < 0)
		return false;
	if (apps_of(t)->fds[1] < 0) {
		apps_of(t)->fds[1] = fd;
		return true;
	}
	if (fstat(fd, &now) || fstat(apps_of(t)->fds[1], &before) ||
	    (now.st_dev == before.st_dev && now.st_ino == before.st_ino) ||
	    dup3(fd, apps_of(t)->fds[1], O_CLOEXEC) < 0) {
		close(fd);
		return false;
	}
	close(fd);
	return true;
}

/* The registrations of programs that run, and of those that other daemons serve, keep it. */
void apps_close(struct tracer *t, bool keep)
{
	char path[sizeof(t->state_dir) + 8];

	for (int i = 0; i < 2; i++) {
		if (apps_of(t)->fds[i] >= 0)
			close(apps_of(t)->fds[i]);
		apps_of(t)->fds[i] = -1;
	}
	snprintf(path, sizeof(path), "%s/apps", t->state_dir);
	if (apps_of(t)->mounted && !keep)
		umount2(path, UMOUNT_NOFOLLOW);
}

/* ---- what is no registration ---- */

/* The names that the library gives its files: 32 hex digits, and first with a point before them. */
static bool is_registered_name(const char *name)
{
	name += *name == '.';
	return strlen(name) == 32 && strspn(name, "0123456789abcdef") == 32;
}

bool app_junk(struct tracer *t, int dir, const char *name)
{
	struct stat st;
	int ret;

	/* The system's directory belongs to root's daemon. */
	if (t->lane != TRAIL_LANE_ROOT && dir != apps_of(t)->fds[0])
		return false;
	if (!strcmp(name, ".") || !strcmp(name, "..") ||
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    (S_ISREG(st.st_mode) && is_registered_name(name)))
		return false;
	ret = registration_remove_junk(dir, name);
	if (!ret)
		junk_count(t);
	else if (ret == -EAGAIN)
		apps_of(t)->rescan_pending = true;
	return true;
}

void app_created(struct tracer *t, const char *name)
{
	for (int i = 0; i < 2; i++)
		if (apps_of(t)->fds[i] >= 0)
			app_junk(t, apps_of(t)->fds[i], name);
}

/* ---- room ---- */

/* Bytes. *full: programs that start now cannot register. False: it is not known. */
static bool measure_room(const struct tracer *t, uint64_t *room, bool *full)
{
	struct statvfs fs;

	if (apps_of(t)->fds[0] < 0 || fstatvfs(apps_of(t)->fds[0], &fs))
		return false;
	*room = (uint64_t)fs.f_bavail * fs.f_frsize;
	*full = *room < ROOM_LEAST || (fs.f_files && !fs.f_favail);
	return true;
}

#define FULL \
	"%s/apps: its file system is full: programs that start now cannot register, and what " \
	"they do is not counted"

void apps_check_room(struct tracer *t)
{
	uint64_t room;
	bool full;

	if (!measure_room(t, &room, &full) || full == apps_of(t)->full)
		return;
	apps_of(t)->full = full;
	if (full)
		tracer_failed(t, 0, FULL, t->state_dir);
}

void apps_status(const struct tracer *t, struct facts *out)
{
	uint64_t room;
	bool full;

	fact_number(out, "apps_removed", junk_removed(t));
	if (!measure_room(t, &room, &full))
		return;
	fact_number(out, "apps_free_bytes", room);
	if (full)
		fact_item(out, "problem", FULL, t->state_dir);
}
