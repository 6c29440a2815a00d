/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * pauses FILE: opens, reads and closes the file again and again until SIGTERM. Prints a line for
 * each time that took 2 ms or more: when it began and how long it took, in ms since the boot. Ends
 * with 1 at the first error.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	static char buf[65536];

	sigaction(SIGTERM, &act, NULL);
	while (argc > 1 && !stop) {
		double began = now(), took;
		int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf));

		if (n <= 0) {
			fprintf(stderr, "%s: %s\n", argv[1], n ? strerror(errno) : "empty");
			return 1;
		}
		close(fd);
		took = now() - began;
		if (took >= 2) {
			printf("%.2f %.2f\n", began, took);
			fflush(stdout);
		}
		usleep(500);
	}
	return 0;
}
