/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * turns PID UID: while the daemon PID is stopped, COUNT connections of user UID ask for hundreds of
 * objects that are not there, then one of root asks for none. When that one is answered the daemon
 * is stopped again: prints how many of the others were answered before, and how many there are.
 * Exit status 77: too few connections can be had.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tracer/abi/app.h"

#define COUNT 3500
#define LEAST 1000

static int fds[COUNT];
static pid_t daemon_pid;

static int dial(const char *name)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%.80s/%s", getenv("TRAIL_RUNTIME_DIR"),
		 name);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static bool ask(int fd, uint32_t objects)
{
	uint8_t msg[sizeof(struct trail_hello) + TRAIL_OBJECT_MAX * 16];
	struct trail_hello hello = {
		.magic = TRAIL_HELLO_MAGIC,
		.version = TRAIL_ABI_VERSION,
		.word_bits = 8 * sizeof(void *),
		.lane = TRAIL_LANE_ROOT,
		.object_count = objects,
	};
	size_t size = sizeof(hello) + objects * 16;

	memset(msg, 0xab, sizeof(msg));
	memcpy(msg, &hello, sizeof(hello));
	return send(fd, msg, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/* Reads from the socket without waiting: true if it got an answer, or the end of file. */
static bool is_answered(int fd)
{
	struct trail_answer answer;
	ssize_t n;

	while ((n = recv(fd, &answer, sizeof(answer), MSG_DONTWAIT)) > 0)
		if (answer.magic == TRAIL_ANSWER_MAGIC)
			return true;
	return n == 0 || errno != EAGAIN;
}

/* All its threads: the state of the process is T only then. */
static void stop_daemon(void)
{
	char path[64], line[256];
	bool stopped = false;

	kill(daemon_pid, SIGSTOP);
	snprintf(path, sizeof(path), "/proc/%d/status", (int)daemon_pid);
	while (!stopped) {
		FILE *f = fopen(path, "r");

		stopped = !f;
		while (f && fgets(line, sizeof(line), f))
			stopped = stopped || (!strncmp(line, "State:", 6) && strchr(line, 'T'));
		if (f)
			fclose(f);
		usleep(1000);
	}
}

static int connect_crowd(uid_t uid)
{
	int n = 0;

	if (seteuid(uid))
		return 0;
	while (n < COUNT && (fds[n] = dial("socket")) >= 0 && ask(fds[n], TRAIL_OBJECT_MAX))
		n++;
	return seteuid(0) ? 0 : n;
}

int main(int argc, char **argv)
{
	struct rlimit files = { COUNT + 100, COUNT + 100 };
	int n, mine, answered = 0;

	if (argc < 3 || !getenv("TRAIL_RUNTIME_DIR"))
		return 2;
	if (setrlimit(RLIMIT_NOFILE, &files))
		return 77;
	daemon_pid = atoi(argv[1]);
	stop_daemon();
	n = connect_crowd((uid_t)atoi(argv[2]));
	/* As the library does. */
	mine = dial("sockets/0");
	mine = mine < 0 ? dial("socket") : mine;
	if (n < LEAST || mine < 0 || !ask(mine, 0)) {
		kill(daemon_pid, SIGCONT);
		return 77;
	}
	kill(daemon_pid, SIGCONT);
	while (!is_answered(mine))
		poll(&(struct pollfd){ .fd = mine, .events = POLLIN }, 1, -1);
	stop_daemon();
	for (int i = 0; i < n; i++) {
		answered += is_answered(fds[i]);
		close(fds[i]);
	}
	kill(daemon_pid, SIGCONT);
	printf("%d %d\n", answered, n);
	return 0;
}
