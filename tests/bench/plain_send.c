/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * plain_send BYTES_PER_SECOND SECONDS: what it costs to send a recording's bytes to a relay, if
 * nothing else is done: from 64 MB of memory, which another process fills meanwhile as traced
 * programs do, in pieces of 512 KiB over loopback to a process that reads 64 KiB at a time, every
 * 20 ms as many as are due. The sender sleeps in between. Prints its CPU time, ns per byte.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PIECE ((size_t)512 << 10)
#define MEMORY ((size_t)64 << 20)
#define READ ((size_t)64 << 10)
#define PAUSE_US 20000

static double ns(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* What a relay does with the bytes is left out: it is the relay's own time. */
static void read_all(int listener)
{
	int fd = accept(listener, NULL, NULL);
	char *buffer = malloc(READ);

	while (fd >= 0 && buffer && recv(fd, buffer, READ, 0) > 0)
		;
	_exit(0);
}

/* Fills the pieces, as fast as they are sent. */
static void fill(char *memory, double rate)
{
	double begin = ns(CLOCK_MONOTONIC);

	for (size_t i = 0;; i++) {
		memset(memory + i * PIECE % MEMORY, (int)i, PIECE);
		while ((double)(i * PIECE) > rate * (ns(CLOCK_MONOTONIC) - begin) / 1e9)
			usleep(PAUSE_US / 4);
	}
}

static int send_piece(int fd, const char *from)
{
	for (size_t at = 0; at < PIECE;) {
		ssize_t n = send(fd, from + at, PIECE - at, MSG_NOSIGNAL);

		if (n < 0)
			return -1;
		at += (size_t)n;
	}
	return 0;
}

static int send_all(int fd, const char *memory, double rate, double seconds)
{
	double begin = ns(CLOCK_MONOTONIC), past = 0;
	size_t i = 0;

	for (; past < seconds; past = (ns(CLOCK_MONOTONIC) - begin) / 1e9) {
		for (; (double)((i + 1) * PIECE) <= rate * past; i++)
			if (send_piece(fd, memory + i * PIECE % MEMORY))
				return -1;
		usleep(PAUSE_US);
	}
	printf("%.4f\n", ns(CLOCK_PROCESS_CPUTIME_ID) / (double)(i * PIECE));
	return 0;
}

int main(int argc, char **argv)
{
	double rate = argc > 2 ? atof(argv[1]) : 0, seconds = argc > 2 ? atof(argv[2]) : 0;
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	char *memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			    0);
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0),
	    one = 1, failed;
	pid_t reader, writer;

	if (rate < (double)PIECE || seconds <= 0 || memory == MAP_FAILED)
		return 2;
	if (bind(listener, (void *)&a, sizeof(a)) || listen(listener, 1) ||
	    getsockname(listener, (void *)&a, &len))
		return 1;
	reader = fork();
	if (!reader)
		read_all(listener);
	writer = fork();
	if (!writer)
		fill(memory, rate);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	failed = reader < 0 || writer < 0 || connect(fd, (void *)&a, len) ||
		 send_all(fd, memory, rate, seconds);
	if (reader > 0)
		kill(reader, SIGKILL);
	if (writer > 0)
		kill(writer, SIGKILL);
	while (wait(NULL) > 0)
		;
	return failed;
}
