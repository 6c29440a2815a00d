/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail */
/*
 * pair [close|shut]: two processes, parent and child, record pair:beat until the parent gets
 * SIGTERM. close: the parent closes all its descriptors first and takes their numbers for another
 * file. Fails if the child then lacks one of these. shut: both close all descriptors first.
 */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <trail/trail.h>

enum { FIRST = 3, END = 600 };

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static void take_all(void)
{
	int fd = open("/dev/null", O_RDONLY);

	for (int i = FIRST; i < END; i++)
		dup2(fd, i);
}

static void shut_all(void)
{
	for (int i = FIRST; i < END; i++)
		close(i);
}

static int has_all(void)
{
	struct stat null, st;

	if (stat("/dev/null", &null))
		return 0;
	for (int i = FIRST; i < END; i++)
		if (fstat(i, &st) || st.st_ino != null.st_ino || st.st_dev != null.st_dev)
			return 0;
	return 1;
}

int main(int argc, char **argv)
{
	int taken = argc > 1 && !strcmp(argv[1], "close"), status;
	int shut = argc > 1 && !strcmp(argv[1], "shut");
	pid_t child;

	signal(SIGTERM, on_signal);
	if (taken)
		take_all();
	if (shut)
		shut_all();
	child = fork();
	if (shut)
		shut_all();
	if (!child && taken && !has_all())
		return 1;
	while (!stop) {
		TRAIL(pair, beat, child);
		usleep(1000);
		if (taken && child)
			break;
	}
	if (child)
		kill(child, SIGTERM);
	return child > 0 && (waitpid(child, &status, 0) != child || status);
}
