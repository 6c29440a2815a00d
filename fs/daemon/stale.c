/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <spawn.h>
#include <time.h>
#include <unistd.h>

#include "fs/base/base.h"
#include "fs/base/handover.h"
#include "fs/base/mounttable.h"
#include "fs/daemon/daemon.h"
#include "fs/fuse/fuse.h"
#include "tracer/base/keeper/keeper.h"

#define PATIENCE_MS 5000        /* for a killed daemon that is about to end */

extern char **environ;

bool stale_abort(const char *state_dir)
{
	int rc;
	pid_t pid = keeper_abort_dead(state_dir, &rc);

	if (pid && rc && rc != -ENOTCONN)
		say(SAY_ERROR,
		    "%s: process %d, a trailfs daemon that was killed, cannot end, and its FUSE "
		    "connection cannot be aborted: %s",
		    state_dir, (int)pid, strerror(-rc));
	else if (pid && !rc)
		say(SAY_WARNING,
		    "%s: the killed trailfs daemon %d was stuck: aborted its FUSE connection",
		    state_dir, (int)pid);
	return pid != 0;
}

static bool dead(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 && (errno == ENOTCONN || errno == ECONNABORTED);
}

/* Is the uppermost mount at the path one of ours? */
static bool ours(const char *path)
{
	struct mount_entry top;

	return mounttable_find(0, path, NULL, &top) && !strcmp(top.type, "fuse.trailfs");
}

/* "a//b/" becomes "a//b", "." becomes "". */
static void strip_end(char *path)
{
	size_t n = strlen(path);

	while (n && (path[n - 1] == '/' || (path[n - 1] == '.' && (n == 1 || path[n - 2] == '/'))))
		path[--n] = 0;
}

/* The path with its directory resolved, and the last step as it is. NULL: errno says why. */
static char *resolve_directory(const char *path)
{
	char *copy = strdup(path), *slash, *dir, *full = NULL;

	if (!copy)
		return NULL;
	while ((slash = strrchr(copy, '/')) && !slash[1] && slash != copy)
		*slash = 0;
	dir = realpath(!slash ? "." : slash == copy ? "/" : (*slash = 0, copy), NULL);
	if (!dir ||
	    asprintf(&full, "%s/%s", strcmp(dir, "/") ? dir : "", slash ? slash + 1 : copy) < 0)
		full = NULL;
	free(dir);
	free(copy);
	return full;
}

/*
 * The same, if one of our mounts is there. No request goes to that mount: without a daemon, it
 * would wait.
 */
static char *find_ours(const char *path)
{
	char cwd[PATH_MAX], target[PATH_MAX], *full = NULL, *next;
	ssize_t n;

	if (*path != '/' && (!getcwd(cwd, sizeof(cwd)) || asprintf(&full, "%s/%s", cwd, path) < 0))
		return NULL;
	if (*path == '/')
		full = strdup(path);
	for (int links = 0; full && links < 8; links++) {
		strip_end(full);
		if (ours(full))
			return full;
		next = resolve_directory(full);
		free(full);
		full = next;
		if (full && ours(full))
			return full;
		n = full ? readlink(full, target, sizeof(target) - 1) : -1;
		if (n <= 0)
			break;
		target[n] = 0;
		next = NULL;
		strrchr(full, '/')[1] = 0;
		if (asprintf(&next, "%s%s", *target == '/' ? "" : full, target) < 0)
			next = NULL;
		free(full);
		full = next;
	}
	free(full);
	return NULL;
}

char *stale_path(const char *path)
{
	char *full = find_ours(path);

	if (!full)
		full = realpath(path, NULL);
	if (full || (errno != ENOTCONN && errno != ECONNABORTED))
		return full;
	/* The last step is the dead mount itself. */
	return resolve_directory(path);
}

/* ---- a mount that the keeper has ---- */

/*
 * Does no daemon use the state directory? One that was killed needs some time to end, and so does
 * one whose mount was taken away. Another one that lives for a while does not end.
 */
static bool is_unused(const char *state_dir, int connection)
{
	char path[PATH_MAX];
	bool locked = false;
	int lives = 0;
	int fd;

	snprintf(path, sizeof(path), "%s/lock", state_dir);
	fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	for (int ms = 0; fd >= 0 && !locked && lives < 10 && ms < PATIENCE_MS; ms += 20) {
		locked = !flock(fd, LOCK_EX | LOCK_NB);
		lives = !keeper_mount_ended(connection) &&
					keeper_find_daemon(state_dir) == KEEPER_DAEMON_LIVES
				? lives + 1
				: 0;
		if (!locked)
			nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	}
	if (fd >= 0)
		close(fd);
	return locked;
}

/*
 * The keeper has the connection of an unmounted mount until the sessions have ended, or cannot be
 * ended. False: it has it for long.
 */
static bool wait_for_end(struct keeper *k)
{
	bool ends = true;

	for (int ms = 0; ends && ms < PATIENCE_MS; ms += 20) {
		int connection = keeper_find(k, HELD_CONNECTION);

		ends = keeper_mount_ended(connection);
		if (connection >= 0)
			close(connection);
		if (ends)
			nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	}
	return !ends;
}

/*
 * Of the two descriptors. *why: why they are nothing that can be taken over. started: a mount that
 * is at the path no more but has not ended can be, too: another mount namespace has a copy, or it
 * was unmounted lazily and has open files.
 */
static enum stale look(int connection, int table, const char *path, bool started, const char **why)
{
	bool here, ended = keeper_mount_ended(connection);
	char mounted[PATH_MAX] = "", device[24];
	struct mount_entry top;

	*why = connection < 0 || table < 0                ? "open files end, sessions are kept"
	       : !handover_look(table, mounted, device)   ? "its state is of another version"
	       : strcmp(mounted, path) != 0               ? "it is of another mount point"
							  : NULL;
	if (*why && connection >= 0 && table >= 0 && !*mounted && !ended)
		return STALE_STRANGE;
	if (*why)
		return STALE_NONE;
	here = mounttable_find(0, path, NULL, &top) && !strcmp(top.device, device);
	*why = ended ? "it has ended" : "another mount is in its place";
	if (ended)
		return here ? STALE_NONE : STALE_UNMOUNTED;
	return here || started ? STALE_ALIVE : STALE_NONE;
}

enum stale stale_look(const char *state_dir, const char *path, bool started)
{
	struct keeper *k;
	int found, connection, table;
	const char *why;
	enum stale what;
	bool stays;             /* with the keeper */

	if (keeper_open(state_dir, NULL, &k, &found))
		return STALE_NONE;
	connection = keeper_find(k, HELD_CONNECTION);
	table = keeper_find(k, HELD_TABLE);
	what = look(connection, table, path, started, &why);
	/* A keeper of an earlier version does not know this, and waits a minute. */
	if (what == STALE_ALIVE)
		keeper_announce(k);
	stays = connection == -ETIMEDOUT || table == -ETIMEDOUT;
	/* The keeper starts daemons until the sessions have ended; this may be one of them. */
	if (keeper_mount_ended(connection))
		stays = started ? what == STALE_UNMOUNTED : wait_for_end(k);
	/* Another mount, or one that cannot be taken over: nothing could end it but the keeper. */
	if (what != STALE_ALIVE && !stays && (connection >= 0 || table >= 0) &&
	    is_unused(state_dir, connection)) {
		/* A user who has unmounted it does not expect it to continue. */
		if (what != STALE_UNMOUNTED)
			say(SAY_WARNING,
			    "the mount of the daemon before this one is not continued: %s", why);
		keeper_drop(k, HELD_START);
		keeper_drop(k, HELD_CONNECTION);
		keeper_drop(k, HELD_TABLE);
	}
	if (connection >= 0)
		close(connection);
	if (table >= 0)
		close(table);
	keeper_close(k, 0);
	return what;
}

/* An ordinary user needs the setuid helper, which checks whose mount it is. */
static int with_fusermount(const char *path)
{
	char *const argv[] = { "fusermount3", "-u", "-q", "-z", "--", (char *)path, NULL };
	int status;
	pid_t pid;

	if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ))
		return -EPERM;
	if (waitpid(pid, &status, 0) < 0 || status)
		return -EPERM;
	return 0;
}

int stale_unmount(const char *path)
{
	if (!dead(path) || !ours(path))
		return 0;
	if (!umount2(path, MNT_DETACH))
		return 0;
	return errno == EPERM ? with_fusermount(path) : -errno;
}
