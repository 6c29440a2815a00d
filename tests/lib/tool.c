/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * System calls from a shell, with the names of their errors.
 *
 *   tool open FILE FLAGS [OPERATION…]   one open file; prints a line for the open if it fails, and
 *                                       one for each operation
 *     FLAGS         r, w or rw, and t O_TRUNC, a O_APPEND, n O_NONBLOCK, c O_CREAT
 *     write TEXT    one write(2), C escapes; file PATH: the same of a whole file
 *     read N        prints the number of bytes; cat N: also prints them
 *     pread OFFSET N
 *     poll MS       prints the names of the events that hold, or "none" after the time
 *     size          st_size by fstat
 *     trunc N       ftruncate
 *     map           compares a private mapping of the whole file with read
 *     sh COMMAND    runs a shell command (its output is its own)
 *     meet PATH     makes this file and waits until it is gone: no child closes a copy of the open
 *     close
 *   tool mkdir|rmdir|unlink|mknod|utimes|access FILE
 *   tool rename|link|symlink OLD NEW;  tool truncate|chmod|chown FILE NUMBER
 *   tool datagram PATH           makes a socket there, prints what comes first
 *   tool interrupt MS FILE       reads, gets a signal after MS; prints how the read ended
 *
 * Prints "ok" (or what it is about) or the name of the error.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static void result(long rc)
{
	if (rc < 0)
		puts(strerrorname_np(errno));
	else
		puts("ok");
}

static void count(ssize_t n)
{
	if (n < 0)
		puts(strerrorname_np(errno));
	else
		printf("%zd\n", n);
}

/* \n \t \\ \ooo, in place; returns the length, for NULs. */
static size_t unescape(char *s)
{
	char *from = s, *to = s;

	while (*from) {
		if (*from != '\\') {
			*to++ = *from++;
		} else if (from[1] >= '0' && from[1] <= '7') {
			int value = 0, n = 0;

			for (from++; n < 3 && *from >= '0' && *from <= '7'; n++)
				value = value * 8 + *from++ - '0';
			*to++ = (char)value;
		} else {
			*to++ = from[1] == 'n' ? '\n' : from[1] == 't' ? '\t' : from[1];
			from += from[1] ? 2 : 1;
		}
	}
	return (size_t)(to - s);
}

static char *whole(const char *path, size_t *size)
{
	FILE *f = fopen(path, "r");
	char *buf = malloc(8 << 20);

	*size = f && buf ? fread(buf, 1, 8 << 20, f) : 0;
	if (f)
		fclose(f);
	return buf;
}

static void write_file(int fd, const char *path)
{
	size_t size;
	char *buf = whole(path, &size);

	count(write(fd, buf, size));
	free(buf);
}

static void read_some(int fd, size_t n, int show)
{
	char *buf = malloc(n + 1);
	ssize_t got = read(fd, buf, n);

	count(got);
	fflush(stdout);
	if (show && got > 0)
		fwrite(buf, 1, (size_t)got, stdout);
	free(buf);
}

static void poll_once(int fd, int ms)
{
	static const struct { short bit; const char *name;
	} names[] = {
		{ POLLIN, "in" },   { POLLOUT, "out" }, { POLLPRI, "pri" },
		{ POLLERR, "err" }, { POLLHUP, "hup" },
	};
	/* Not POLLOUT: it holds always. Waiting for PRI alone is what a watcher of status does. */
	struct stat st;
	struct pollfd p = { .fd = fd, .events = POLLPRI };

	if (!fstat(fd, &st) && ms < 0) {
		p.events = POLLIN | POLLPRI;
		ms = -ms;
	}
	if (poll(&p, 1, ms) < 0) {
		result(-1);
		return;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (p.revents & names[i].bit)
			printf("%s ", names[i].name);
	puts(p.revents ? "" : "none");
}

static void size_of(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		result(-1);
	else
		printf("%lld\n", (long long)st.st_size);
}

static void meet(const char *path)
{
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	for (int i = 0; i < 6000 && !access(path, F_OK); i++)
		usleep(10000);
}

static void map(int fd)
{
	struct stat st;
	char *buf, *mem;
	ssize_t n;

	if (fstat(fd, &st)) {
		result(-1);
		return;
	}
	buf = malloc((size_t)st.st_size + 1);
	mem = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (mem == MAP_FAILED) {
		result(-1);
		return;
	}
	n = pread(fd, buf, (size_t)st.st_size, 0);
	puts(n != st.st_size ? "short" : memcmp(buf, mem, (size_t)n) ? "differ" : "same");
}

static char *next(char ***args)
{
	if (!**args) {
		fprintf(stderr, "tool: an argument is missing\n");
		exit(2);
	}
	return *(*args)++;
}

static void operation(int fd, const char *op, char ***args)
{
	if (!strcmp(op, "write")) {
		char *text = next(args);

		count(write(fd, text, unescape(text)));
	} else if (!strcmp(op, "file")) {
		write_file(fd, next(args));
	} else if (!strcmp(op, "read") || !strcmp(op, "cat")) {
		read_some(fd, strtoul(next(args), NULL, 0), *op == 'c');
	} else if (!strcmp(op, "pread")) {
		off_t at = strtol(next(args), NULL, 0);
		char *buf = malloc(1 << 20);

		count(pread(fd, buf, strtoul(next(args), NULL, 0), at));
		free(buf);
	} else if (!strcmp(op, "poll")) {
		poll_once(fd, atoi(next(args)));
	} else if (!strcmp(op, "size")) {
		size_of(fd);
	} else if (!strcmp(op, "trunc")) {
		result(ftruncate(fd, strtol(next(args), NULL, 0)));
	} else if (!strcmp(op, "map")) {
		map(fd);
	} else if (!strcmp(op, "sh")) {
		fflush(stdout);
		if (system(next(args)))
			puts("failed");
	} else if (!strcmp(op, "meet")) {
		meet(next(args));
	} else if (!strcmp(op, "close")) {
		result(close(fd));
	} else {
		fprintf(stderr, "tool: no operation '%s'\n", op);
		exit(2);
	}
	fflush(stdout);
}

static int open_and(const char *path, const char *flags, char **args)
{
	int mode = strchr(flags, 'w') ? strchr(flags, 'r') ? O_RDWR : O_WRONLY : O_RDONLY, fd;

	mode |= strchr(flags, 't') ? O_TRUNC : 0;
	mode |= strchr(flags, 'a') ? O_APPEND : 0;
	mode |= strchr(flags, 'n') ? O_NONBLOCK : 0;
	mode |= strchr(flags, 'c') ? O_CREAT : 0;
	fd = open(path, mode | O_CLOEXEC, 0666);
	if (fd < 0) {
		result(-1);
		return 1;
	}
	if (!*args)
		puts("ok");
	while (*args)
		operation(fd, next(&args), &args);
	return 0;
}

static void on_signal(int sig)
{
	(void)sig;
}

static int interrupt(long ms, const char *path)
{
	struct timeval after = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };
	/* Again and again: the first signal may come before the read has begun. */
	struct itimerval timer = { .it_value = after, .it_interval = after };
	struct sigaction action = { .sa_handler = on_signal };
	int fd = open(path, O_RDONLY);
	char buf[4096];

	if (fd < 0) {
		result(-1);
		return 1;
	}
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	count(read(fd, buf, sizeof(buf)));
	return 0;
}

static int datagram(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_DGRAM, 0);
	char buf[4096];
	ssize_t n;

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	if (sock < 0 || bind(sock, (struct sockaddr *)&at, sizeof(at))) {
		result(-1);
		return 1;
	}
	n = recv(sock, buf, sizeof(buf), 0);
	printf("%.*s\n", (int)(n > 0 ? n : 0), buf);
	return n <= 0;
}

static int two(const char *verb, const char *a, const char *b)
{
	long number = strtol(b, NULL, 0);

	if (!strcmp(verb, "rename"))
		result(rename(a, b));
	else if (!strcmp(verb, "link"))
		result(link(a, b));
	else if (!strcmp(verb, "symlink"))
		result(symlink(a, b));
	else if (!strcmp(verb, "truncate"))
		result(truncate(a, number));
	else if (!strcmp(verb, "chmod"))
		result(chmod(a, (mode_t)strtol(b, NULL, 8)));
	else if (!strcmp(verb, "chown"))
		result(chown(a, (uid_t)number, (gid_t)-1));
	else if (!strcmp(verb, "interrupt"))
		return interrupt(strtol(a, NULL, 0), b);
	else
		return 2;
	return 0;
}

static int one(const char *verb, const char *a)
{
	if (!strcmp(verb, "mkdir"))
		result(mkdir(a, 0777));
	else if (!strcmp(verb, "rmdir"))
		result(rmdir(a));
	else if (!strcmp(verb, "unlink"))
		result(unlink(a));
	else if (!strcmp(verb, "mknod"))
		result(mknod(a, S_IFIFO | 0666, 0));
	else if (!strcmp(verb, "utimes"))
		result(utimes(a, NULL));
	else if (!strcmp(verb, "access"))
		result(access(a, W_OK));
	else if (!strcmp(verb, "datagram"))
		return datagram(a);
	else
		return 2;
	return 0;
}

int main(int argc, char **argv)
{
	int rc = 2;

	if (argc >= 4 && !strcmp(argv[1], "open"))
		return open_and(argv[2], argv[3], argv + 4);
	if (argc == 4)
		rc = two(argv[1], argv[2], argv[3]);
	else if (argc == 3)
		rc = one(argv[1], argv[2]);
	if (rc == 2)
		fprintf(stderr, "tool: see the top of tool.c\n");
	return rc;
}
