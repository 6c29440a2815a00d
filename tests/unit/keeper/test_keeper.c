/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TIMEOUT: 120 */
/* The keeper as a real process: this program is its executable too. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "tests/unit/keeper/keeper_process.h"
#include "tracer/base/keeper/keeper.h"
#include "tracer/base/os/state_file.h"

#define SELF "/proc/self/exe"

static void puts_and_gives_back(void)
{
	struct keeper *k = NULL;
	struct seen seen = { 0 };
	int found = -1, a = memfd("1"), b = memfd("20"), c = memfd("300"), i;
	char name[252];
	pid_t pid;

	new_dir();
	CHECK(!keeper_open(dir, SELF, &k, &found));
	CHECK(k && found == 0);
	if (!k)
		return;
	pid = pid_of(k);
	CHECK(!keeper_each(k, see, &seen) && seen.count == 0);
	CHECK(!keeper_put(k, "a", a) && !keeper_put(k, "b/b b", b));
	CHECK(!keeper_put(k, "a", c));
	CHECK(keeper_drop(k, "none") == -ENOENT);
	CHECK(!keeper_each(k, see, &seen));
	CHECK_STR(seen.text, "a=300 b/b b=20 ");
	CHECK(!keeper_drop(k, "a"));
	memset(name, 'n', 251);
	name[251] = '\0';
	CHECK(keeper_put(k, name, a) == -EINVAL && keeper_put(k, "", a) == -EINVAL &&
	      keeper_put(k, "x", -1) == -EBADF);
	CHECK(keeper_put(k, "x", 9999) == -EBADF);
	name[250] = '\0';
	CHECK(!keeper_put(k, name, a) && !keeper_drop(k, name));
	for (i = 0; i < 3; i++)
		CHECK(fcntl(i == 0 ? a : i == 1 ? b : c, F_GETFD) >= 0);
	keeper_close(k, 1);
	CHECK(gone(pid, LONG));
	close(a);
	close(b);
	close(c);
	remove_dir();
}

/* A daemon of its own that is killed while it holds the connection. */
static void survives_the_daemon(void)
{
	struct keeper *k = NULL;
	struct seen seen = { 0 };
	int found = -1, status, ready[2];
	pid_t pid;
	char c;

	new_dir();
	CHECK(!pipe(ready));
	pid = fork();
	if (!pid) {
		int fd = memfd("42");

		setsid();
		if (keeper_open(dir, SELF, &k, &found) || found || keeper_put(k, "kept", fd))
			_exit(1);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	close(ready[1]);
	CHECK(read(ready[0], &c, 1) == 1);
	close(ready[0]);
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	CHECK(!keeper_open(dir, SELF, &k, &found));
	CHECK(found == 1);
	CHECK(k && !keeper_each(k, see, &seen));
	CHECK_STR(seen.text, "kept=42 ");
	keeper_close(k, 0);
	CHECK(!keeper_open(dir, SELF, &k, &found) && found == 1);
	pid = pid_of(k);
	/* Nothing of the daemon's surroundings. */
	if (pid > 0) {
		char path[64], link[300];
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/%d/cwd", (int)pid);
		n = readlink(path, link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = '\0';
		CHECK_STR(link, "/");
		snprintf(path, sizeof(path), "/proc/%d/fd/1", (int)pid);
		n = readlink(path, link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = '\0';
		CHECK_STR(link, "/dev/null");
		CHECK(getsid(pid) != getsid(0) && getpgid(pid) != getpgid(0));
		/* These it ignores. */
		kill(pid, SIGINT);
		kill(pid, SIGHUP);
		CHECK(!gone(pid, 50));
	}
	keeper_close(k, 1);
	CHECK(gone(pid, LONG));
	remove_dir();
}

/* A daemon is killed while the keeper does not run: what it has sent is served nevertheless. */
static void serves_what_a_dead_daemon_sent(void)
{
	struct keeper *k = NULL;
	struct seen seen = { 0 };
	int found = -1, fd = memfd("1");
	char name[8];
	pid_t pid;

	new_dir();
	CHECK(!keeper_open(dir, SELF, &k, &found));
	pid = keeper_pid(k);
	CHECK(kill(pid, SIGSTOP) == 0);
	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		keeper_put(k, name, fd);
	}
	keeper_close(k, 0);
	CHECK(kill(pid, SIGCONT) == 0);
	CHECK(!keeper_open(dir, SELF, &k, &found) && found == 1);
	CHECK(!keeper_each(k, see, &seen));
	CHECK_STR(seen.text, "n0=1 n1=1 n2=1 n3=1 n4=1 ");
	keeper_close(k, 1);
	close(fd);
	remove_dir();
}

/* A keeper that does not run for a while has what it has: a daemon waits for it. */
static void waits_for_a_late_one(void)
{
	struct keeper *k = NULL;
	int found = -1, fd = memfd("1"), got;
	pid_t pid, child;

	new_dir();
	CHECK(!keeper_open(dir, SELF, &k, &found));
	CHECK(!keeper_put(k, "n", fd));
	pid = keeper_pid(k);
	CHECK(kill(pid, SIGSTOP) == 0);
	child = fork();
	if (!child) {
		sleep(2);
		kill(pid, SIGCONT);
		_exit(0);
	}
	got = keeper_find(k, "n");
	CHECK(got >= 0);
	CHECK(waitpid(child, NULL, 0) == child);
	CHECK(keeper_find(k, "m") == -ENOENT);
	close(got);
	keeper_close(k, 1);
	close(fd);
	remove_dir();
}

static void replaces_a_dead_one(void)
{
	struct keeper *k = NULL, *other = NULL;
	int found, fd = memfd("1");
	pid_t pid;
	struct stat st;
	char path[400];

	new_dir();
	CHECK(!keeper_open(dir, SELF, &k, &found));
	pid = pid_of(k);
	kill(pid, SIGKILL);
	CHECK(gone(pid, LONG));
	CHECK(keeper_put(k, "x", fd) == -EPIPE);
	CHECK(keeper_drop(k, "x") == -EPIPE);
	keeper_close(k, 0);
	snprintf(path, sizeof(path), "%s/keeper", dir);
	CHECK(!lstat(path, &st) && S_ISSOCK(st.st_mode) && (st.st_mode & 0777) == 0600);
	CHECK(!keeper_open(dir, SELF, &k, &found) && found == 0);
	CHECK(!keeper_put(k, "x", fd));
	/* Two at a time do not disturb each other. */
	CHECK(!keeper_open(dir, SELF, &other, &found) && found == 1);
	CHECK(!keeper_drop(other, "x") && keeper_drop(k, "x") == -ENOENT);
	keeper_close(other, 0);
	pid = pid_of(k);
	kill(pid, SIGTERM);
	CHECK(gone(pid, LONG));
	keeper_close(k, 0);
	close(fd);
	remove_dir();
}

/*
 * An executable that ends at once is started again and again: nothing waits for the time that a
 * keeper has to answer.
 */
static void starting_fails_soon(void)
{
	static const char script[] = "#!/bin/sh\nprintf x >>\"$2.starts\"\n";
	char path[sizeof(dir) + 16], exe[sizeof(dir) + 16];
	struct keeper *k = NULL;
	struct stat st = { 0 };
	int found, fd;

	new_dir();
	snprintf(path, sizeof(path), "%s.starts", dir);
	snprintf(exe, sizeof(exe), "%s.script", dir);
	fd = open(exe, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	CHECK(write(fd, script, sizeof(script) - 1) == sizeof(script) - 1);
	close(fd);
	CHECK(keeper_open(dir, "/no/such/program", &k, &found) < 0);
	CHECK(keeper_open(dir, exe, &k, &found) < 0);
	CHECK(!stat(path, &st) && st.st_size > 1);
	CHECK(keeper_open("/no/such/directory", SELF, &k, &found) == -ENOENT);
	unlink(path);
	unlink(exe);
	remove_dir();
}

/*
 * The time from nothing to a keeper that answers, and that a second start at the same moment does
 * no harm.
 */
static void many_start_at_once(void)
{
	pid_t pids[8];
	struct keeper *k = NULL;
	int i, status, found;
	struct seen seen = { 0 };

	new_dir();
	for (i = 0; i < 8; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			char name[16];
			int fd = memfd("1");

			snprintf(name, sizeof(name), "n%d", i);
			if (keeper_open(dir, SELF, &k, &found))
				_exit(1);
			status = keeper_put(k, name, fd);
			/* (A keeper that is late serves it nevertheless.) */
			_exit(status && status != -ETIMEDOUT ? 2 : 0);
		}
	}
	for (i = 0; i < 8; i++) {
		CHECK(waitpid(pids[i], &status, 0) == pids[i]);
		CHECK(status == 0);
	}
	status = keeper_open(dir, SELF, &k, &found);
	CHECK(status == 0);
	if (status)
		return;
	CHECK(found == 1);
	CHECK(!keeper_each(k, see, &seen) && seen.count == 8 && seen.sum == 8);
	keeper_close(k, 1);
	remove_dir();
}

static int raw(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%.90s/keeper", dir);
	CHECK(!connect(s, (struct sockaddr *)&addr, sizeof(addr)));
	return s;
}

/* Bytes of all kinds, with any number of descriptors. */
static void garbage(int sock, uint32_t seed, int spare)
{
	char bytes[600];
	int fds[20], i, n = (int)(seed % 20);
	char control[CMSG_SPACE(sizeof(fds))] __attribute__((aligned(8))) = { 0 };
	struct iovec iov = { bytes, (seed >> 8) % sizeof(bytes) };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct keeper_msg msg = { KEEPER_MAGIC, seed % 7, seed,
				  (int32_t)(seed % 3 ? seed >> 3 : seed) };
	struct cmsghdr *c;

	for (i = 0; i < (int)sizeof(bytes); i++)
		bytes[i] = (char)(seed * 2654435761u >> (i % 24));
	if (msg.op == KEEPER_QUIT)
		msg.op = 99;
	if (seed & 32)
		memcpy(bytes, &msg, sizeof(msg));
	if (n) {
		h.msg_control = control;
		h.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
		c = CMSG_FIRSTHDR(&h);
		*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
				       .cmsg_type = SCM_RIGHTS,
				       .cmsg_len = CMSG_LEN((size_t)n * sizeof(int)) };
		for (i = 0; i < n; i++)
			fds[i] = spare;
		memcpy(CMSG_DATA(c), fds, (size_t)n * sizeof(int));
	}
	sendmsg(sock, &h, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int open_fds(pid_t pid)
{
	char path[64];
	int n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static void garbage_does_no_harm(void)
{
	struct keeper *k = NULL;
	struct seen seen = { 0 };
	int found, i, before, open = 0, fd = memfd("7"), socks[20];
	uint32_t seed = 1;
	pid_t pid;

	new_dir();
	CHECK(!keeper_open(dir, SELF, &k, &found));
	CHECK(!keeper_put(k, "seven", fd));
	pid = pid_of(k);
	before = open_fds(pid);
	for (i = 0; i < 3000; i++) {
		int s = raw(), j;

		for (j = 0; j < 5; j++)
			garbage(s, seed = seed * 1103515245 + 12345, fd);
		close(s);
	}
	/* More than it serves at once, never reading; and asking without taking the answers. */
	for (i = 0; i < 20; i++)
		socks[i] = raw();
	for (i = 0; i < 5000; i++) {
		struct keeper_msg msg = { KEEPER_MAGIC, KEEPER_HELLO, 1, 0 };

		send(socks[0], &msg, sizeof(msg), MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	CHECK(!keeper_put(k, "eight", fd));
	for (i = 0; i < 20; i++)
		close(socks[i]);
	CHECK(!keeper_drop(k, "eight"));
	CHECK(!keeper_each(k, see, &seen));
	CHECK(seen.sum >= 7 && strstr(seen.text, "seven=7"));
	/* PUTs with valid names may have come through the noise; nothing else may stay open. */
	for (i = 0; i < 1000 && (open = open_fds(pid) - before) != seen.count - 1; i++) {
		/* What the closed connections had sent is still being read. */
		usleep(10000);
		seen = (struct seen){ 0 };
		CHECK(!keeper_each(k, see, &seen));
	}
	printf("# %d descriptors and %d entries after %d looks\n", open, seen.count, i);
	CHECK(open == seen.count - 1);
	keeper_close(k, 1);
	close(fd);
	remove_dir();
}

/* Whose directory is removed can never be found again: it goes when its daemon goes. */
static void ends_with_its_directory(void)
{
	struct keeper *k = NULL;
	int found, fd = memfd("1");
	pid_t pid;

	new_dir();
	CHECK(!keeper_open(dir, SELF, &k, &found));
	pid = pid_of(k);
	CHECK(!keeper_put(k, "x", fd));
	remove_dir();
	CHECK(!gone(pid, 50));
	CHECK(!keeper_put(k, "y", fd));
	keeper_close(k, 0);
	CHECK(gone(pid, LONG));
	close(fd);
}

static void ends_when_idle(void)
{
	struct keeper *k = NULL;
	int found;
	pid_t pid;

	new_dir();
	CHECK(!keeper_open(dir, SELF, &k, &found));
	pid = pid_of(k);
	keeper_close(k, 0);
	CHECK(!gone(pid, 1000));
	CHECK(gone(pid, LONG));
	remove_dir();
}

static void long_paths(void)
{
	struct keeper *k = NULL;
	int found = -1, fd = memfd("1");
	char base[300];

	new_dir();
	strcpy(base, dir);
	memset(dir + strlen(dir), 0, 1);
	strcat(dir, "/");
	memset(dir + strlen(base) + 1, 'l', 120);
	dir[strlen(base) + 121] = '\0';
	CHECK(!mkdir(dir, 0700));
	CHECK(!keeper_open(dir, SELF, &k, &found) && found == 0);
	CHECK(k && !keeper_put(k, "x", fd));
	keeper_close(k, 0);
	CHECK(!keeper_open(dir, SELF, &k, &found) && found == 1);
	CHECK(k && !keeper_drop(k, "x"));
	keeper_close(k, 1);
	close(fd);
	strcpy(dir, base);
	remove_dir();
}

static void holds_many(void)
{
	struct keeper *k = NULL;
	struct seen seen = { 0 };
	struct rlimit r = { 0 };
	int found, i, fd = memfd("1"), ret = 0, n = 2000;
	struct timespec a, b;
	char name[32];

	new_dir();
	getrlimit(RLIMIT_NOFILE, &r);
	if (r.rlim_max < 3000)
		SKIP("RLIMIT_NOFILE is too low");
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
	CHECK(!keeper_open(dir, SELF, &k, &found));
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (i = 0; i < n && !ret; i++) {
		snprintf(name, sizeof(name), "region-%d", i);
		while ((ret = keeper_put(k, name, fd)) == -EAGAIN)
			usleep(1000);
		/* A keeper that did not run for a while has it later. */
		if (ret == -ETIMEDOUT)
			ret = 0;
	}
	CHECK(!ret);
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("# %.1f us per descriptor handed over\n",
	       ((double)(b.tv_sec - a.tv_sec) * 1e6 + (double)(b.tv_nsec - a.tv_nsec) / 1e3) / n);
	while ((ret = keeper_each(k, see, &seen)) == -ETIMEDOUT)
		seen = (struct seen){ 0 };
	CHECK(!ret && seen.count == n);
	keeper_close(k, 1);
	close(fd);
	remove_dir();
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--keeper"))
		return keeper_main(argv[2]);
	CASE(puts_and_gives_back);
	CASE(survives_the_daemon);
	CASE(serves_what_a_dead_daemon_sent);
	CASE(waits_for_a_late_one);
	CASE(replaces_a_dead_one);
	CASE(starting_fails_soon);
	CASE(many_start_at_once);
	CASE(garbage_does_no_harm);
	CASE(ends_with_its_directory);
	CASE(ends_when_idle);
	CASE(long_paths);
	CASE(holds_many);
	return test_summary();
}
