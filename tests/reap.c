/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * reap SECONDS FILE COMMAND…: runs a command in a session of its own and leaves no process of it.
 *
 * All that descends from the command, daemons included, is killed when it has ended or when its
 * time is over: orphans come to this process (PR_SET_CHILD_SUBREAPER). Exits as the command did;
 * 124: its time was over; 128 + N: signal N. FILE gets the CPU time of all of them, user and
 * system, in hundredths of a second; without those whose parent ignores SIGCHLD.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct process {
	pid_t pid, parent;
	bool ours;
};

static bool parent_of(pid_t pid, pid_t *parent)
{
	char path[64], line[512], *p;
	int n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	p = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	if (p)
		n = sscanf(p + 1, " %*c %d", parent);
	fclose(f);
	return n == 1;
}

static size_t processes(struct process **out)
{
	size_t count = 0, size = 0;
	struct process *list = NULL;
	struct dirent *e;
	DIR *d = opendir("/proc");

	while (d && (e = readdir(d))) {
		struct process p = { .pid = atoi(e->d_name) };

		if (!isdigit((unsigned char)e->d_name[0]) || !parent_of(p.pid, &p.parent))
			continue;
		if (count == size) {
			size = size ? size * 2 : 256;
			list = realloc(list, size * sizeof(*list));
			if (!list)
				abort();
		}
		list[count++] = p;
	}
	if (d)
		closedir(d);
	*out = list;
	return count;
}

/* Sends SIGKILL to all descendants. */
static void kill_all(void)
{
	struct process *list;
	size_t count = processes(&list);
	pid_t self = getpid();
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < count; i++) {
			bool ours = list[i].parent == self;

			for (size_t j = 0; j < count && !ours; j++)
				ours = list[j].ours && list[j].pid == list[i].parent;
			if (ours && !list[i].ours)
				more = list[i].ours = true;
		}
	}
	for (size_t i = 0; i < count; i++)
		if (list[i].ours)
			kill(list[i].pid, SIGKILL);
	free(list);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Kills until there are no children left, but not for ever: who hangs in the kernel is reported. */
static void clean_up(void)
{
	double end = now() + 10;

	while (now() < end) {
		kill_all();
		for (int i = 0; i < 20; i++) {
			pid_t pid = waitpid(-1, NULL, WNOHANG);

			if (pid < 0 && errno == ECHILD)
				return;
			if (pid <= 0)
				usleep(5000);
		}
	}
	fprintf(stderr, "reap: some processes cannot be killed\n");
}

static int wait_for(pid_t child, double seconds, const sigset_t *set)
{
	double end = now() + seconds;

	for (;;) {
		double left = end - now();
		struct timespec t = { (time_t)left, (long)((left - (time_t)left) * 1e9) };
		int status, sig;
		pid_t pid;

		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			if (pid == child)
				return WIFEXITED(status) ? WEXITSTATUS(status)
							 : 128 + WTERMSIG(status);
		if (left <= 0)
			return 124;
		sig = sigtimedwait(set, NULL, &t);
		if (sig == SIGTERM || sig == SIGINT || sig == SIGHUP)
			return 128 + sig;
	}
}

static void write_cpu_time(const char *path)
{
	FILE *f = fopen(path, "we");
	struct timeval sum;
	struct rusage u;

	if (!f) {
		perror(path);
		return;
	}
	getrusage(RUSAGE_CHILDREN, &u);
	timeradd(&u.ru_utime, &u.ru_stime, &sum);
	fprintf(f, "%ld\n", sum.tv_sec * 100L + sum.tv_usec / 10000);
	fclose(f);
}

int main(int argc, char **argv)
{
	sigset_t set, old;
	pid_t child;
	int status;

	if (argc < 4) {
		fprintf(stderr, "usage: reap SECONDS FILE COMMAND...\n");
		return 125;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &old);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	child = fork();
	if (child < 0) {
		perror("reap: fork");
		return 125;
	}
	if (!child) {
		sigprocmask(SIG_SETMASK, &old, NULL);
		setsid();
		execvp(argv[3], argv + 3);
		perror(argv[3]);
		_exit(127);
	}
	status = wait_for(child, atof(argv[1]), &set);
	clean_up();
	write_cpu_time(argv[2]);
	return status;
}
