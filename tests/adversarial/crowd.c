/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail */
/*
 * crowd COUNT EVENTS PAUSE GO: COUNT processes that register at once, and when the file GO is there
 * emit at once EVENTS events crowd:member { member, n } each, PAUSE microseconds apart. n counts
 * from 1. Ends when all have.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <trail/trail.h>

static void be_member(int member, int events, useconds_t pause_us, int go)
{
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(go, &c, 1) > 0)
		;
	for (int n = 1; n <= events; n++) {
		TRAIL(crowd, member, member, n);
		if (pause_us)
			usleep(pause_us);
	}
}

int main(int argc, char **argv)
{
	int count = argc > 4 ? atoi(argv[1]) : 0, fds[2], status, bad = 0;

	if (!count || pipe(fds) < 0) {
		fprintf(stderr, "usage: crowd COUNT EVENTS PAUSE GO\n");
		return 2;
	}
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("crowd: fork");
			return 2;
		}
		if (!pid) {
			close(fds[1]);
			be_member(i, atoi(argv[2]), (useconds_t)atoi(argv[3]), fds[0]);
			exit(0);
		}
	}
	while (access(argv[4], F_OK) < 0)
		usleep(20000);
	close(fds[1]);
	while (wait(&status) > 0)
		bad += status != 0;
	return bad != 0;
}
