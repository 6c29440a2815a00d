/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/foreign/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tracer/base/lock_order.h"
#include "tracer/format/foreign/fault.h"
#include "tracer/format/foreign/foreign.h"
#include "tracer/format/foreign/protocol.h"

#define IDLE_SECONDS 10u        /* without CPU time, and not waiting for a disk */
#define LATE_MAX 64             /* processes that have not ended yet */

/* ---- start ---- */

/* What of the daemon's environment is no business of a process that a trace may take over. */
static bool is_passed(const char *entry)
{
	static const char *const names[] = { "TZ=", "LD_LIBRARY_PATH=", "ASAN_OPTIONS=",
					     "UBSAN_OPTIONS=", "TSAN_OPTIONS=",
					     FAULT_VARIABLE "=" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(entry, names[i], strlen(names[i])))
			return true;
	return false;
}

int spawn_start(int sock, pid_t *pid)
{
	char name[] = "trail-import", verb[] = FOREIGN_VERB, *argv[] = { name, verb, NULL };
	char *env[16];
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	size_t n = 0;
	int ret;

	for (char **e = environ; *e && n < 15; e++)
		if (is_passed(*e))
			env[n++] = *e;
	env[n] = NULL;
	if (posix_spawn_file_actions_init(&files))
		return -ENOMEM;
	posix_spawnattr_init(&attr);
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
					POSIX_SPAWN_SETSID);
	ret = posix_spawn_file_actions_adddup2(&files, sock, FOREIGN_SOCKET);
	for (int fd = 0; fd < 3 && !ret; fd++)
#ifdef LOCKS_CHECKED
		if (fd < 2)     /* a sanitizer reports on the other one */
#endif
			ret = posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
	if (!ret)
		ret = posix_spawn(pid, "/proc/self/exe", &files, &attr, argv, env);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return -ret;
}

int spawn_send(int sock, const void *data, size_t size, const int *fds, size_t count)
{
	union files_message c;
	struct iovec iov = { (void *)data, size };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &c,
			    .msg_controllen = CMSG_SPACE(count * sizeof(int)) };
	struct cmsghdr *h;
	ssize_t n;

	memset(&c, 0, sizeof(c));
	h = CMSG_FIRSTHDR(&m);
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(h), fds, count * sizeof(int));
	do
		n = sendmsg(sock, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)size ? 0 : n < 0 ? -errno : -EIO;
}

/* ---- while it works ---- */

/* ns of CPU time; 0: the process is not there. */
static int64_t cpu_time(pid_t pid)
{
	struct timespec t;
	clockid_t id;

	if (clock_getcpuclockid(pid, &id) || clock_gettime(id, &t))
		return 0;
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Whether it waits for a disk: the state D of /proc/PID/stat. */
static bool waits_for_disk(pid_t pid)
{
	char path[32], text[128], *end;
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = 0;
	end = strrchr(text, ')');
	return end && end[1] == ' ' && end[2] == 'D';
}

bool spawn_wait(int sock, pid_t pid, unsigned int cpu_max, const char **what)
{
	unsigned int most = fault_seconds() ? fault_seconds() : IDLE_SECONDS, idle = 0;
	struct pollfd p = { .fd = sock, .events = POLLIN };
	int64_t first = -1, last = 0, now;

	for (;;) {
		int n = poll(&p, 1, 1000);

		if (n > 0)
			return true;
		now = cpu_time(pid);
		first = first < 0 ? now : first;
		idle = now == last && !waits_for_disk(pid) ? idle + 1 : 0;
		last = now;
		if (now - first > (int64_t)cpu_max * 1000000000) {
			*what = "took too much CPU time for a part of it, and was ended";
			return false;
		}
		if (idle > most) {
			*what = "did not answer, and was ended";
			return false;
		}
	}
}

/* ---- end ---- */

/*
 * Guards `late`: processes that were killed and still wait in the kernel, for a disk. The thread
 * that ends the next process reaps them. No other lock is taken while it is held.
 */
static pthread_mutex_t late_lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t late[LATE_MAX];

static void reap_late(pid_t add)
{
	pthread_mutex_lock(&late_lock);
	for (int i = 0; i < LATE_MAX; i++) {
		if (late[i] && waitpid(late[i], NULL, WNOHANG))
			late[i] = 0;
		if (!late[i] && add) {
			late[i] = add;
			add = 0;
		}
	}
	pthread_mutex_unlock(&late_lock);
}

int spawn_end(pid_t pid)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	int status = -1, ended = 0;

	/* A process that has ended keeps its status. */
	kill(pid, SIGKILL);
	for (int i = 0; i < 1000 && !ended; i++) {
		ended = waitpid(pid, &status, WNOHANG);
		if (!ended)
			nanosleep(&pause, NULL);
	}
	reap_late(ended ? 0 : pid);
	return ended == pid ? status : -1;
}

void spawn_describe(int status, char *out, size_t size)
{
	if (status != -1 && WIFSIGNALED(status))
		snprintf(out, size, "ended by signal %d (%s)", WTERMSIG(status),
			 sigdescr_np(WTERMSIG(status)) ? sigdescr_np(WTERMSIG(status)) : "unknown");
	else if (status != -1 && WIFEXITED(status))
		snprintf(out, size, "ended with status %d", WEXITSTATUS(status));
	else
		snprintf(out, size, "ended");
}
