/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The FUSE connection of a daemon that was killed and cannot end. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "tracer/base/keeper/keeper.h"
#include "tracer/base/os/state_file.h"

#define STATE_LOCK "lock"       /* tracer.c locks it and stores the announcement in it */
#define ANNOUNCED_MAX 8192
#define PATIENCE_MS 10000       /* a sync(2) may take many seconds on a loaded machine */
#define PAUSE_MS 10

struct daemon {
	pid_t pid;
	unsigned int connection;        /* minor number of the device of its file system */
	char point[PATH_MAX];           /* where it is mounted */
};

/* Of a thread, as /proc/PID/stat has it. 0: there is none. */
static char thread_state(int dir, const char *stat_file)
{
	char text[64], *end;
	ssize_t n;
	int fd = openat(dir, stat_file, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	end = strrchr(text, ')');
	return end && end[1] == ' ' ? end[2] : 0;
}

/* A killed thread that can run ends, also if it has to wait for a CPU for long. */
static bool has_stuck_thread(int process)
{
	int fd = openat(process, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *tasks = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;
	bool stuck = false;
	char path[300];

	while (tasks && !stuck && (d = readdir(tasks))) {
		snprintf(path, sizeof(path), "%s/stat", d->d_name);
		stuck = *d->d_name != '.' && thread_state(fd, path) == 'D';
	}
	if (tasks)
		closedir(tasks);
	else if (fd >= 0)
		close(fd);
	return stuck;
}

/*
 * Its main thread has ended, and another one waits in the kernel: a daemon whose main thread runs
 * is alive.
 */
static bool is_dead(pid_t pid)
{
	char path[32];
	bool dead;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return false;           /* then its descriptors are closed */
	dead = thread_state(fd, "stat") == 'Z' && has_stuck_thread(fd);
	close(fd);
	return dead;
}

/*
 * Does this process hold the lock of the state directory? Then it has closed no descriptor yet:
 * /dev/fuse is open as well. (A number in the file alone may be one of another pid namespace.)
 */
static bool holds_lock(int dir, pid_t pid)
{
	FILE *locks = fopen("/proc/locks", "re");
	unsigned int major_nr, minor_nr;
	unsigned long long ino;
	bool found = false;
	char *line = NULL;
	size_t size = 0;
	struct stat st;
	int holder;

	if (fstatat(dir, STATE_LOCK, &st, AT_SYMLINK_NOFOLLOW))
		st.st_ino = 0;
	while (locks && !found && getline(&line, &size, locks) > 0)
		found = sscanf(line, "%*d: FLOCK %*s WRITE %d %x:%x:%llu ", &holder, &major_nr,
			       &minor_nr, &ino) == 4 &&
			holder == pid && ino == st.st_ino && major_nr == major(st.st_dev) &&
			minor_nr == minor(st.st_dev);
	free(line);
	if (locks)
		fclose(locks);
	return found;
}

static bool find_dead(int dir, struct daemon *out)
{
	struct md_buf text = MD_BUF_INIT;
	int at = 0;
	bool found = !state_file_read(dir, STATE_LOCK, ANNOUNCED_MAX, &text) &&
		     sscanf(md_buf_str(&text), "%d 0:%u %n", &out->pid, &out->connection, &at) ==
			     2 &&
		     out->pid > 0 && is_dead(out->pid) && holds_lock(dir, out->pid);

	if (found)
		snprintf(out->point, sizeof(out->point), "%s", md_buf_str(&text) + at);
	md_buf_deinit(&text);
	return found;
}

/* A killed process has the signal in its set until it ends. */
static bool is_killed(int process)
{
	int fd = openat(process, "status", O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "re");
	char line[256];
	unsigned long long set;
	bool killed = !f;

	while (f && !killed && fgets(line, sizeof(line), f))
		killed = (sscanf(line, "SigPnd: %llx", &set) == 1 ||
			  sscanf(line, "ShdPnd: %llx", &set) == 1) &&
			 set >> (SIGKILL - 1) & 1;
	if (f)
		fclose(f);
	else if (fd >= 0)
		close(fd);
	return killed;
}

enum keeper_daemon keeper_find_daemon(const char *state_dir)
{
	int dir = open(state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC), process = -1, pid;
	struct md_buf text = MD_BUF_INIT;
	bool killed = false;
	char path[32], state = 0;

	if (dir >= 0 && !state_file_read(dir, STATE_LOCK, ANNOUNCED_MAX, &text) &&
	    sscanf(md_buf_str(&text), "%d ", &pid) == 1 && pid > 0 && holds_lock(dir, pid)) {
		snprintf(path, sizeof(path), "/proc/%d", pid);
		process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (process >= 0) {
		killed = is_killed(process);
		state = thread_state(process, "stat");
		close(process);
	}
	if (dir >= 0)
		close(dir);
	md_buf_deinit(&text);
	return !state                                   ? KEEPER_DAEMON_UNKNOWN
	       : killed || state == 'Z' || state == 'X' ? KEEPER_DAEMON_ENDS
							: KEEPER_DAEMON_LIVES;
}

/*
 * Whether the daemon's mount point is on this connection. After an unmount the kernel gives the
 * number to the next file system, though the process that served the connection is still there.
 * The kernel answers without a request to the daemon (statx(2), AT_STATX_DONT_SYNC).
 */
static bool is_mounted(const struct daemon *d)
{
	struct statx st;

	return statx(AT_FDCWD, d->point, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &st) ==
		       0 &&
	       st.stx_dev_major == 0 && st.stx_dev_minor == d->connection;
}

/* A mount of fusectl that no path leads to, for a system that has not mounted it. */
static int mount_fusectl(void)
{
	int fs = fsopen("fusectl", FSOPEN_CLOEXEC), dir = -1;

	if (fs >= 0 && !fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		dir = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	if (fs >= 0)
		close(fs);
	return dir;
}

static int open_abort(unsigned int connection)
{
	int dir = open("/sys/fs/fuse/connections", O_PATH | O_DIRECTORY | O_CLOEXEC), fd;
	char path[32];

	snprintf(path, sizeof(path), "%u/abort", connection);
	fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
	if (dir >= 0)
		close(dir);
	if (fd >= 0)
		return fd;
	dir = mount_fusectl();
	if (dir < 0)
		return -1;
	fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
	close(dir);
	return fd;
}

/* Whether it is still there after that time. Most need some milliseconds to end. */
static bool stays_dead(int dir, struct daemon *out)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000 };
	bool found = find_dead(dir, out);
	const pid_t first = out->pid;

	for (int ms = 0; found && ms < PATIENCE_MS; ms += PAUSE_MS) {
		nanosleep(&pause, NULL);
		/* Another one may have been killed since, and have the time that it needs. */
		found = find_dead(dir, out) && out->pid == first;
	}
	return found;
}

pid_t keeper_abort_dead(const char *state_dir, int *result)
{
	int dir = open(state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;
	struct daemon dead = { 0 }, still = { 0 };
	pid_t pid = 0;

	*result = 0;
	if (dir >= 0 && stays_dead(dir, &dead)) {
		fd = open_abort(dead.connection);
		if (fd < 0)
			*result = -errno;
		/*
		 * The open file belongs to one connection for ever, the number does not: so the
		 * daemon must have it still.
		 */
		if (find_dead(dir, &still) && still.connection == dead.connection)
			pid = still.pid;
		if (!pid)
			*result = 0;
		else if (!is_mounted(&still))
			*result = -ENOTCONN;
		else if (fd >= 0 && write(fd, "1", 1) != 1)
			*result = -errno;
	}
	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
	return pid;
}
