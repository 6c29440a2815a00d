/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * herd WRITER SLOTS WRITERS THREADS PAUSE SECONDS KILL [FIRST]: keeps WRITERS writers running for
 * SECONDS (or until SIGTERM).
 *
 * KILL is `kill` (one of them gets kill -9 every 5 to 25 ms, and a new one takes its place; it
 * continues after SECONDS until there were KILLS_MIN), `stop`
 * (every 2 to 12 ms one is SIGSTOPped or continued) or `none`. Writers are numbered from FIRST on.
 * At the end the rest is stopped. Prints `started N` and `killed N`.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HERD_MAX 64
#define KILLS_MIN 30

struct writer {
	pid_t pid;
	bool stopped;
};

static volatile sig_atomic_t stopping;
static char **args;
static unsigned int next_index, killed;

static void on_signal(int sig)
{
	(void)sig;
	stopping = 1;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void start(struct writer *w)
{
	char index[16];

	snprintf(index, sizeof(index), "%u", next_index++);
	w->stopped = false;
	w->pid = fork();
	if (w->pid < 0) {
		perror("herd: fork");
		exit(2);
	}
	if (!w->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!freopen("/dev/null", "w", stdout))
			_exit(126);
		execl(args[1], "writer", args[2], index, args[4], "0", args[5], (char *)NULL);
		perror(args[1]);
		_exit(127);
	}
}

/* A writer that ended by itself is a failure. */
static void check(struct writer *w)
{
	int status;

	if (waitpid(w->pid, &status, WNOHANG) != w->pid)
		return;
	fprintf(stderr, "herd: a writer died: status 0x%x\n", (unsigned int)status);
	exit(1);
}

static void bother(struct writer *w, const char *how)
{
	if (!strcmp(how, "kill")) {
		check(w);
		kill(w->pid, SIGKILL);
		waitpid(w->pid, NULL, 0);
		killed++;
		start(w);
	} else if (!strcmp(how, "stop")) {
		kill(w->pid, w->stopped ? SIGCONT : SIGSTOP);
		w->stopped = !w->stopped;
	}
}

/* Tells a writer to stop until it does: one that was just started is not listening yet. */
static int end_one(const struct writer *w)
{
	int status = -1;

	while (waitpid(w->pid, &status, WNOHANG) == 0) {
		kill(w->pid, SIGTERM);
		kill(w->pid, SIGCONT);
		usleep(20000);
	}
	return status;
}

static int end(struct writer *writers, unsigned int count)
{
	int bad = 0;

	for (unsigned int i = 0; i < count; i++) {
		kill(writers[i].pid, SIGTERM);
		kill(writers[i].pid, SIGCONT);
	}
	for (unsigned int i = 0; i < count; i++) {
		int status = end_one(&writers[i]);

		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) {
			killed++;
		} else if (status) {
			fprintf(stderr, "herd: a writer ended with status 0x%x\n",
				(unsigned int)status);
			bad = 1;
		}
	}
	printf("started %u\nkilled %u\n", next_index - (args[8] ? (unsigned int)atoi(args[8]) : 0),
	       killed);
	return bad;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct writer writers[HERD_MAX];
	unsigned int count;
	bool gentle;
	double until;

	if (argc < 8) {
		fprintf(stderr, "usage: herd WRITER SLOTS WRITERS THREADS PAUSE SECONDS "
				"kill|stop|none [FIRST]\n");
		return 2;
	}
	args = argv;
	sigaction(SIGTERM, &action, NULL);
	srandom((unsigned int)getpid());
	count = (unsigned int)atoi(argv[3]);
	if (count < 1 || count > HERD_MAX)
		return 2;
	next_index = argc > 8 ? (unsigned int)atoi(argv[8]) : 0;
	gentle = strcmp(argv[7], "kill") != 0;
	until = now() + atof(argv[6]);
	for (unsigned int i = 0; i < count; i++)
		start(&writers[i]);
	while (!stopping && (now() < until || (!gentle && killed < KILLS_MIN))) {
		usleep((useconds_t)(gentle ? 2000 + random() % 10000 : 5000 + random() % 20000));
		bother(&writers[(unsigned long)random() % count], argv[7]);
		for (unsigned int i = 0; i < count; i++)
			check(&writers[i]);
	}
	return end(writers, count);
}
