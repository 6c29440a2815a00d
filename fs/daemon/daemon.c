/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/base/base.h"
#include "fs/daemon/daemon.h"

/* -1000 is never killed. So the kernel can still kill a daemon that grows without end. */
#define OOM_SCORE "-900"

static int ready = -1;

void daemon_stay(void)
{
	say_to_syslog();
	setsid();
}

/* The child's exit status, if it ends before it said that all is well. */
static _Noreturn void wait_for(pid_t child, int fd)
{
	char done;
	int status = 1;
	ssize_t n;

	do {
		n = read(fd, &done, 1);
	} while (n < 0 && errno == EINTR);
	if (n == 1)
		_exit(0);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	_exit(WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : 1);
}

void daemon_fill_streams(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);         /* for children, too */
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int daemon_begin(void)
{
	int fds[2];
	pid_t child;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	child = fork();
	if (child < 0)
		return -errno;
	if (child) {
		close(fds[1]);
		wait_for(child, fds[0]);
	}
	close(fds[0]);
	ready = fds[1];
	/* What else the caller has open, as a lock's file, would stay open until the unmount. */
	if (ready > 3 && dup3(ready, 3, O_CLOEXEC) == 3)
		ready = 3;
	close_range((unsigned int)ready + 1, ~0u, 0);
	setsid();
	return 0;
}

void daemon_ready(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	say_to_syslog();
	if (chdir("/"))
		say(SAY_WARNING, "cannot leave the current directory");
	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
	if (ready < 0)
		return;
	if (write(ready, "", 1) != 1)
		say(SAY_DEBUG, "the process that started the daemon has ended");
	close(ready);
}

void daemon_protect(void)
{
	static const char file[] = "/proc/self/oom_score_adj", score[] = OOM_SCORE;
	char now[16] = "";
	int fd = open(file, O_RDWR | O_CLOEXEC);

	if (fd >= 0 && read(fd, now, sizeof(now) - 1) > 0 && atoi(now) == 0 &&
	    pwrite(fd, score, sizeof(score) - 1, 0) < 0)
		say(SAY_DEBUG, "%s: %s", file, strerror(errno));
	if (fd >= 0)
		close(fd);
}

void daemon_notify(void)
{
	static const char ready_text[] = "READY=1";
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	int sock;

	if (!len || len >= sizeof(to.sun_path))
		return;
	memcpy(to.sun_path, path, len);
	if (to.sun_path[0] == '@')      /* an abstract name */
		to.sun_path[0] = 0;
	sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sock < 0 ||
	    sendto(sock, ready_text, sizeof(ready_text) - 1, MSG_NOSIGNAL, (struct sockaddr *)&to,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0)
		say(SAY_WARNING, "NOTIFY_SOCKET: %s", strerror(errno));
	if (sock >= 0)
		close(sock);
	unsetenv("NOTIFY_SOCKET");
}
