/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <spawn.h>
#include <unistd.h>

#include "fs/base/base.h"
#include "fs/base/mounttable.h"
#include "fs/daemon/daemon.h"
#include "tracer/base/keeper/keeper.h"

#define PATIENCE_MS 2000        /* for a killed daemon that is about to end */

extern char **environ;

void stale_abort(const char *state_dir)
{
	int rc;
	pid_t pid = keeper_abort_dead(state_dir, PATIENCE_MS, &rc);

	if (pid && rc)
		say(SAY_ERROR,
		    "%s: process %d, a trailfs daemon that was killed, cannot end, and its FUSE "
		    "connection cannot be aborted: %s",
		    state_dir, (int)pid, strerror(-rc));
	else if (pid)
		say(SAY_WARNING,
		    "%s: the killed trailfs daemon %d was stuck: aborted its FUSE connection",
		    state_dir, (int)pid);
}

static bool dead(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 && (errno == ENOTCONN || errno == ECONNABORTED);
}

char *stale_path(const char *path)
{
	char *copy, *slash, *dir, *full = realpath(path, NULL);

	if (full || (errno != ENOTCONN && errno != ECONNABORTED))
		return full;
	/* The last step is the dead mount itself. */
	copy = strdup(path);
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

/* Is the uppermost mount at the path one of ours? */
static bool ours(const char *path)
{
	struct mount_entry top;

	return mounttable_find(0, path, NULL, &top) && !strcmp(top.type, "fuse.trailfs");
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
