/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail */
/*
 * ended hit HITS: hits ended:hit, cannot ask the daemon where its events go, and ends without
 * exit(3). So the daemon alone can account for them.
 * ended HITS STATUS DAEMON APPS: the daemon is stopped. Renames a file in APPS many times, runs the
 * program, continues the daemon, and reads STATUS at once: the daemon has much to handle before it
 * comes to the program. Prints the events that are recorded or discarded.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <trail/trail.h>

#define CHANGES 4000 /* even */

/* In place of libc's, in libtrail.so as well. */
int connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	(void)fd, (void)addr, (void)len;
	errno = EACCES;
	return -1;
}

static uint64_t value_of(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static int print_status(const char *path)
{
	char text[16384];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n < 0)
		return 2;
	close(fd);
	text[n] = 0;
	printf("%" PRIu64 "\n", value_of(text, "events_recorded ") +
				       value_of(text, "events_discarded "));
	return 0;
}

static int keep_busy(const char *apps)
{
	char path[2][300];
	int fd;

	for (int i = 0; i < 2; i++)
		snprintf(path[i], sizeof(path[i]), "%s/%d", apps, i);
	fd = open(path[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || close(fd))
		return 2;
	for (int i = 0; i < CHANGES; i++)
		if (rename(path[i & 1], path[!(i & 1)]))
			return 2;
	return unlink(path[0]);
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	if (argc == 3 && !strcmp(argv[1], "hit")) {
		for (long n = 0; n < atol(argv[2]); n++)
			TRAIL(ended, hit, n);
		_exit(0);
	}
	if (argc != 5 || keep_busy(argv[4]))
		return 2;
	pid = fork();
	if (pid == 0) {
		execl("/proc/self/exe", "ended", "hit", argv[1], (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status || kill(atoi(argv[3]), SIGCONT))
		return 2;
	return print_status(argv[2]);
}
