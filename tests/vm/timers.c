/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * timers SECONDS: a process for each CPU, with timers of all kinds at a high rate, that makes
 * system calls meanwhile.
 */
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void nothing(int signal)
{
	(void)signal;
}

static int one(int cpu, long seconds)
{
	struct itimerspec every = { { 0, 300000 }, { 0, 300000 } };
	struct itimerval signals = { { 0, 700 }, { 0, 700 } };
	struct timespec now, pause = { 0, 100000 };
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	uint64_t expired;
	cpu_set_t set;
	time_t end;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	signal(SIGALRM, nothing);
	if (sched_setaffinity(0, sizeof(set), &set) || fd < 0 ||
	    timerfd_settime(fd, 0, &every, NULL) || setitimer(ITIMER_REAL, &signals, NULL))
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &now);
	end = now.tv_sec + seconds;
	while (now.tv_sec < end) {
		if (read(fd, &expired, sizeof(expired)) < 0)
			syscall(SYS_getppid);
		nanosleep(&pause, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
	}
	return 0;
}

int main(int argc, char **argv)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int status, bad = 0;

	for (int cpu = 0; cpu < cpus; cpu++)
		if (!fork())
			_exit(one(cpu, argc > 1 ? atol(argv[1]) : 1));
	while (wait(&status) > 0)
		bad |= status != 0;
	return bad;
}
