/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * spent FILE COMMAND…: runs it, and writes the CPU time that it and its children took to the file,
 * in microseconds. SIGINT is for the command alone: those who record are stopped in this way.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t child;

static void pass_on(int signal)
{
	if (child > 0)
		kill((pid_t)child, signal);
}

static long long us(struct timeval t)
{
	return t.tv_sec * 1000000ll + t.tv_usec;
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = pass_on, .sa_flags = SA_RESTART };
	struct rusage r;
	int status;
	FILE *f;

	if (argc < 3)
		return 2;
	child = fork();
	if (!child) {
		/* A shell's background processes have it ignored. */
		signal(SIGINT, SIG_DFL);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	sigaction(SIGINT, &act, NULL);
	if (child < 0 || waitpid((pid_t)child, &status, 0) != child ||
	    getrusage(RUSAGE_CHILDREN, &r))
		return 1;
	f = fopen(argv[1], "w");
	if (!f)
		return 1;
	fprintf(f, "%lld\n", us(r.ru_utime) + us(r.ru_stime));
	fclose(f);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
