/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/os/open_as.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GROUPS_MOST 4096
#define LOOKUP_MAX 65536
#define LINKS_MOST 40

/* ---- whose rights: those of the calling thread alone, so the C library's setgroups, which is for all threads, is no use ---- */

struct rights {
	bool changed;
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	int group_count;
};

static int set_groups(int count, const gid_t *groups)
{
	return syscall(SYS_setgroups, count, groups) ? -errno : 0;
}

/* The user's groups by the database; one who is not in it has none. */
static int groups_of(uid_t uid, gid_t *gid, gid_t *groups)
{
	char *space = malloc(LOOKUP_MAX);
	struct passwd user, *u = NULL;
	int n = GROUPS_MOST;

	*gid = (gid_t)-1;
	if (space && getpwuid_r(uid, &user, space, LOOKUP_MAX, &u) == 0 && u) {
		*gid = u->pw_gid;
		if (getgrouplist(u->pw_name, u->pw_gid, groups, &n) < 0)
			n = 0;
	} else {
		n = 0;
	}
	free(space);
	return n;
}

static int take_rights(uid_t uid, struct rights *old)
{
	gid_t *groups = calloc(GROUPS_MOST, sizeof(*groups)), gid;
	int n, ret;

	*old = (struct rights){ 0 };
	if (geteuid() != 0 || uid == 0) {       /* the daemon's own */
		free(groups);
		return 0;
	}
	old->groups = calloc(GROUPS_MOST, sizeof(*old->groups));
	old->group_count = old->groups ? getgroups(GROUPS_MOST, old->groups) : -1;
	if (!groups || old->group_count < 0) {
		free(groups);
		free(old->groups);
		return -ENOMEM;
	}
	n = groups_of(uid, &gid, groups);
	ret = set_groups(n, groups);
	free(groups);
	if (ret) {
		free(old->groups);
		return ret;
	}
	old->changed = true;
	/* A user that the database does not know gets a group that nobody has. */
	old->gid = (gid_t)setfsgid(gid == (gid_t)-1 ? (gid_t)uid : gid);
	old->uid = (uid_t)setfsuid(uid);
	/* An owner that our user namespace does not know cannot be acted for. */
	return (uid_t)setfsuid((uid_t)-1) == uid ? 0 : -EACCES;
}

static void give_back(struct rights *old)
{
	if (!old->changed)
		return;
	setfsuid(old->uid);
	setfsgid(old->gid);
	set_groups(old->group_count, old->groups);
	free(old->groups);
}

/* ---- the way there, one name at a time ---- */

struct walk {
	uid_t owner;
	int dir;                        /* where we are */
	char rest[2 * PATH_MAX];        /* of the way */
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

/* fd is a symbolic link: what it says comes before the rest. */
static int follow(struct walk *w, int fd, const struct stat *st)
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

/* Takes the next name off the rest. False: there is none. */
static bool next_name(struct walk *w, char name[NAME_MAX + 2])
{
	const char *p = w->rest + strspn(w->rest, "/");
	size_t n = strcspn(p, "/");

	/* One that is too long stays too long, so that no other one is found. */
	snprintf(name, NAME_MAX + 2, "%.*s", (int)n, p);
	memmove(w->rest, p + n, strlen(p + n) + 1);
	return n != 0;
}

/* An O_PATH descriptor of what the path names; opens nothing, so that a device or FIFO notices nothing. */
static int find(struct walk *w, struct stat *st)
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
			ret = follow(w, fd, st);
		} else {
			close(w->dir);
			w->dir = fd;
			continue;
		}
		close(fd);
	}
	return ret ? ret : fstat(w->dir, st) ? -errno : 0;
}

static int open_as_we_are(uid_t owner, const char *path)
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
	ret = find(w, &st);
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

int ownerfile_open(uid_t owner, const char *path, struct tr_err *err)
{
	struct rights old;
	int fd;

	if (strlen(path) >= PATH_MAX)
		return tr_fail(err, -ENAMETOOLONG, "the path is too long");
	fd = take_rights(owner, &old);
	if (!fd)
		fd = open_as_we_are(owner, path);
	give_back(&old);
	if (fd == -EISDIR || fd == -EINVAL)
		return tr_fail(err, -EINVAL, "%s is no regular file", path);
	if (fd == -ELOOP)
		return tr_fail(err, fd, "%s: too many symbolic links", path);
	if (fd == -EACCES)
		return tr_fail(err, fd, "%s: the session's owner may not read it, or a symbolic link on the way is somebody else's", path);
	return fd < 0 ? tr_fail(err, fd, "%s: %s", path, strerror(-fd)) : fd;
}
