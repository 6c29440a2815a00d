/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the tests share that are a daemon, with one region, and an application that hits one
 * tracepoint: this program again. The application reads letters from its standard input, and
 * answers each by a letter; `h` is a hit.
 */
#ifndef FALSE_DAEMON_H
#define FALSE_DAEMON_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracer/abi/app.h"
#include "tracer/base/ring/ring.h"

#include <trail/trail.h>

static char dir[64];
static struct region *region;
static int listener, to_app, from_app;
static pid_t app;
static uint8_t generation = 1;

static void fail(const char *why)
{
	printf("FAILED: %s\n", why);
	if (app > 0)
		kill(app, SIGKILL);
	exit(1);
}

static void check(bool ok, const char *what)
{
	if (!ok)
		fail(what);
}

/* ---- the application ---- */

/* The only tracepoint. */
static __attribute__((noinline)) void hit(void)
{
	TRAIL(exchange, hit, TRAIL_FIELD(n, 1));
}

static void tell(char what)
{
	if (write(to_app, &what, 1) != 1)
		fail("the application does not listen");
}

static void done(char what)
{
	struct pollfd p = { .fd = from_app, .events = POLLIN };
	char got;

	if (poll(&p, 1, 300000) != 1 || read(from_app, &got, 1) != 1 || got != what)
		fail("the application does not come back");
}

static void start(const char *patience)
{
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		fail("pipe");
	app = fork();
	if (app == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		setenv("TRAIL_RUNTIME_DIR", dir, 1);
		setenv("TRAIL_ATTACH_TIMEOUT", patience, 1);
		setenv("FALSE_DAEMON_APPLICATION", "1", 1);
		execl("/proc/self/exe", "false_daemon", (char *)NULL);
		_exit(127);
	}
	to_app = in[1];
	from_app = out[0];
	close(in[0]);
	close(out[1]);
	tell('n'); /* it has registered */
	done('n');
}

static void end(void)
{
	int status;

	close(to_app);
	if (waitpid(app, &status, 0) != app || status)
		fail("the application did not end well");
	app = 0;
	close(from_app);
}

/* ---- the daemon ---- */

/* New state words, in all registrations. */
static void switch_on(void)
{
	char path[200];
	struct dirent *d;
	int found = 0;

	snprintf(path, sizeof(path), "%s/apps", dir);
	generation++;
	for (int tries = 0; tries < 30000 && !found; tries++, usleep(10000)) {
		DIR *apps = opendir(path);

		while (apps && (d = readdir(apps))) {
			struct trail_reg reg;
			int fd = d->d_name[0] == '.'
					 ? -1
					 : openat(dirfd(apps), d->d_name, O_RDWR | O_CLOEXEC);

			if (fd >= 0 && pread(fd, &reg, sizeof(reg), 0) == sizeof(reg) &&
			    reg.event_count == 1) {
				uint32_t word = generation; /* root's lane */

				found = pwrite(fd, &word, sizeof(word), reg.state_offset) ==
					sizeof(word);
			}
			if (fd >= 0)
				close(fd);
		}
		if (apps)
			closedir(apps);
	}
	if (!found)
		fail("no registration");
}

/*
 * The next question: its connection, with the number of objects, and in *index that of the one with
 * our event.
 */
static int question(uint32_t *index, uint32_t *lane)
{
	union {
		struct trail_hello head;
		uint8_t bytes[sizeof(struct trail_hello) + TRAIL_OBJECT_MAX * 16];
	} hello;
	struct pollfd p = { .fd = listener, .events = POLLIN };
	int conn = poll(&p, 1, 300000) == 1 ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;

	p = (struct pollfd){ .fd = conn, .events = POLLIN };
	if (conn < 0 || poll(&p, 1, 300000) != 1 ||
	    recv(conn, &hello, sizeof(hello), 0) < (ssize_t)sizeof(hello.head))
		fail("no question");
	*lane = hello.head.lane;
	for (*index = 0; *index < hello.head.object_count; ++*index) {
		char path[200], name[33];
		struct trail_reg reg;
		int fd;

		for (int i = 0; i < 16; i++)
			snprintf(name + 2 * i, 3, "%02x", hello.head.objects[*index][i]);
		snprintf(path, sizeof(path), "%s/apps/%s", dir, name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0 && pread(fd, &reg, sizeof(reg), 0) == sizeof(reg) &&
		    reg.event_count == 1) {
			close(fd);
			return conn;
		}
		if (fd >= 0)
			close(fd);
	}
	fail("the question lacks the object");
	return -1;
}

struct false_plan {
	struct trail_plan head;
	struct trail_plan_region region;
	struct trail_plan_slot slot;
};

static struct false_plan good_plan(uint32_t object)
{
	return (struct false_plan){
		.head = { .magic = TRAIL_PLAN_MAGIC,
			  .version = TRAIL_ABI_VERSION,
			  .region_count = 1,
			  .slot_count = 1 },
		.region = { .key = region->key, .size = region->size },
		.slot = { .object = (uint16_t)object, .word = generation, .on = 1 },
	};
}

/*
 * An answer with one region. plan_fd: the plan's descriptor; -1: the plan is in the message.
 */
static void send_plan(int conn, const struct false_plan *plan, uint32_t plan_size, int plan_fd,
		      int region_fd)
{
	bool within = plan_fd < 0;
	union {
		char buf[CMSG_SPACE(sizeof(int) * 2)];
		struct cmsghdr align;
	} control = { 0 };
	struct trail_answer a = { .magic = TRAIL_ANSWER_MAGIC,
				  .region_count = 1,
				  .plan_size = plan_size };
	struct iovec iov[] = { { &a, sizeof(a) }, { (void *)plan, sizeof(*plan) } };
	struct msghdr msg = { .msg_iov = iov,
			      .msg_iovlen = within ? 2 : 1,
			      .msg_control = control.buf,
			      .msg_controllen = CMSG_SPACE(sizeof(int) * (within ? 1 : 2)) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int fds[2] = { plan_fd, region_fd };

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int) * (within ? 1 : 2));
	memcpy(CMSG_DATA(c), fds + within, sizeof(int) * (within ? 1 : 2));
	if (sendmsg(conn, &msg, MSG_NOSIGNAL) < 0)
		fail("the question is not open any more");
}

/* A sealed memfd of this size, which begins with the plan. */
static int plan_memfd(const struct false_plan *plan, uint32_t size)
{
	int fd = memfd_create("plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || write(fd, plan, sizeof(*plan)) != sizeof(*plan) || ftruncate(fd, size) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE))
		fail("plan");
	return fd;
}

/* ---- both ---- */

/* Whether this process is the application. */
static bool is_application(void)
{
	return getenv("FALSE_DAEMON_APPLICATION") != NULL;
}

static void daemon_open(void)
{
	struct region_geometry geo = {
		.mode = TRAIL_MODE_DISCARD,
		.kind = TRAIL_RINGS_CPU,
		.ring_count = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
		.subbuf_count = 2,
		.subbuf_size = 65536,
		.switch_count = 64,
		.clock_mult = 0,
	};
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char path[100];

	signal(SIGPIPE, SIG_IGN);
	strcpy(dir, "/tmp/false_daemon.XXXXXX");
	if (!mkdtemp(dir))
		exit(3);
	snprintf(path, sizeof(path), "%s/apps", dir);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/socket", dir);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (mkdir(path, 01777) || bind(listener, (struct sockaddr *)&addr, sizeof(addr)) ||
	    listen(listener, 64) || region_create(&geo, 4711, &region))
		exit(3);
	region_switch(region, 0, 1);
}

/* Returns the exit status. */
static int daemon_close(void)
{
	char command[100];

	region_put(region);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	printf("ok\n");
	return system(command) ? 1 : 0;
}

#endif
