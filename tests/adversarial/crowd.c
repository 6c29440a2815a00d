/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail */
/*
 * crowd COUNT EVENTS PAUSE GO [LAST]: COUNT processes that register at once, and when the file GO
 * is there emit at once EVENTS events crowd:member { member, n } each, PAUSE microseconds apart;
 * the last one when the file LAST is there. n counts from 1. Ends when all have.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <trail/trail.h>

/* The writing end of a pipe is closed when the file is there. */
struct gate {
	const char *path;
	int fds[2];
};

static void wait_gate(const struct gate *g)
{
	char c;

	while (g->path && read(g->fds[0], &c, 1) > 0)
		;
}

static void open_gate(const struct gate *g)
{
	while (g->path && access(g->path, F_OK) < 0)
		usleep(20000);
	close(g->fds[1]);
}

static void be_member(int member, int events, useconds_t pause_us, const struct gate *gates)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(gates[0].fds[1]);
	close(gates[1].fds[1]);
	wait_gate(&gates[0]);
	for (int n = 1; n <= events; n++) {
		if (n == events)
			wait_gate(&gates[1]);
		TRAIL(crowd, member, member, n);
		if (pause_us)
			usleep(pause_us);
	}
}

int main(int argc, char **argv)
{
	struct gate gates[2] = { { argc > 4 ? argv[4] : NULL, { -1, -1 } },
				 { argc > 5 ? argv[5] : NULL, { -1, -1 } } };
	int count = argc > 4 ? atoi(argv[1]) : 0, status, bad = 0;

	if (!count || pipe(gates[0].fds) < 0 || pipe(gates[1].fds) < 0) {
		fprintf(stderr, "usage: crowd COUNT EVENTS PAUSE GO [LAST]\n");
		return 2;
	}
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("crowd: fork");
			return 2;
		}
		if (!pid) {
			be_member(i, atoi(argv[2]), (useconds_t)atoi(argv[3]), gates);
			exit(0);
		}
	}
	open_gate(&gates[0]);
	open_gate(&gates[1]);
	while (wait(&status) > 0)
		bad += status != 0;
	return bad != 0;
}
