/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core trail pthread */
/*
 * A daemon (this program) that answers when it likes, and an application (this program again) that
 * hits one tracepoint at each command:
 *	late	no answer within the application's patience: it continues; the answer is taken by
 *		the hit that follows it, and no other question is put, and the open one takes no
 *		number that open(2) would have returned
 *	alive	signs of life make the application wait, for longer than its patience
 *	crowded	an answer with more descriptors than a plan can have is refused
 *	closed	a program that closes all descriptors loses the answer, and nothing else
 *	forked	a child of a raw clone(2) does not take the answer to its parent's question
 */
#define _GNU_SOURCE
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
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/raw_fork.h"
#include "tracer/abi/app.h"
#include "tracer/ring/ring.h"

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

/*
 * ---- the application: h hits, f has a child of a raw clone(2) hit, c closes what is not its own,
 * n notes the number that the next descriptor gets; each is answered by its letter, n by x if the
 * number is another one than before ----
 */

static bool next_is_the_same(void)
{
	static int before = -1;
	int fd = dup(0);
	bool same = before < 0 || fd == before;

	close(fd);
	before = fd;
	return same;
}

/* The only tracepoint. */
static __attribute__((noinline)) void hit(void)
{
	TRAIL(exchange, hit, TRAIL_FIELD(n, 1));
}

static void hit_in_child(void)
{
	pid_t child = raw_fork();

	if (child == 0) {
		hit();
		_exit(0);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child)
		_exit(3);
}

static int application(void)
{
	char what;

	while (read(0, &what, 1) == 1) {
		if (what == 'h')
			hit();
		if (what == 'f')
			hit_in_child();
		if (what == 'c')
			for (int fd = 3; fd < 1024; fd++)
				close(fd);
		if (what == 'n' && !next_is_the_same())
			what = 'x';
		if (write(1, &what, 1) != 1)
			return 1;
	}
	return 0;
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
		setenv("EXCHANGE_APPLICATION", "1", 1);
		execl("/proc/self/exe", "test_exchange", (char *)NULL);
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

/* Every second answer has its plan in the message. */
static void answer(int conn, uint32_t object)
{
	static bool within;
	union {
		char buf[CMSG_SPACE(sizeof(int) * 2)];
		struct cmsghdr align;
	} control = { 0 };
	struct {
		struct trail_plan head;
		struct trail_plan_region region;
		struct trail_plan_slot slot;
	} plan = {
		.head = { .magic = TRAIL_PLAN_MAGIC,
			  .version = TRAIL_ABI_VERSION,
			  .region_count = 1,
			  .slot_count = 1 },
		.region = { .key = region->key, .size = region->size },
		.slot = { .object = (uint16_t)object, .word = generation, .on = 1 },
	};
	struct trail_answer a = { .magic = TRAIL_ANSWER_MAGIC,
				  .region_count = 1,
				  .plan_size = sizeof(plan) };
	struct iovec iov[] = { { &a, sizeof(a) }, { &plan, sizeof(plan) } };
	struct msghdr msg = { .msg_iov = iov,
			      .msg_iovlen = within ? 2 : 1,
			      .msg_control = control.buf,
			      .msg_controllen = CMSG_SPACE(sizeof(int) * (within ? 1 : 2)) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int fds[2] = { memfd_create("plan", MFD_CLOEXEC | MFD_ALLOW_SEALING), region->fd };

	if (fds[0] < 0 || write(fds[0], &plan, sizeof(plan)) != sizeof(plan) ||
	    fcntl(fds[0], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE))
		fail("plan");
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int) * (within ? 1 : 2));
	memcpy(CMSG_DATA(c), fds + within, sizeof(int) * (within ? 1 : 2));
	if (sendmsg(conn, &msg, MSG_NOSIGNAL) < 0)
		fail("the question is not open any more");
	close(fds[0]);
	within = !within;
}

static void taken(int conn)
{
	struct pollfd p = { .fd = conn, .events = POLLIN };
	char byte;

	if (poll(&p, 1, 300000) != 1 || recv(conn, &byte, 1, 0) != 1)
		fail("the answer was not taken");
	close(conn);
}

static bool asked_again(void)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };

	return poll(&p, 1, 0) != 0;
}

/*
 * Events in all rings: G5 of ring.h counts them in the tally, but a position that moved is enough
 * here.
 */
static uint64_t written(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < region->geo.ring_count; i++)
		sum += __atomic_load_n(&region_ring(region, i)->head, __ATOMIC_ACQUIRE) &
		       (region->geo.subbuf_size - 1);
	return sum;
}

static void check(bool ok, const char *what)
{
	if (!ok)
		fail(what);
}

static void late(void)
{
	uint64_t before = written();
	uint32_t index, lane;
	int conn;

	start("20");
	switch_on();
	tell('h');
	conn = question(&index, &lane);
	done('h'); /* it does not wait for ever */
	tell('n');
	done('n');
	check(written() == before, "recorded without an answer");
	for (int i = 0; i < 3; i++) {
		tell('h');
		done('h');
	}
	check(!asked_again(), "late: asked again while the question is open");
	answer(conn, index);
	usleep(200000); /* until the application looks again: see exchange_due() */
	tell('h');
	done('h');
	check(written() > before, "late: the answer is there, but not taken by the next hit");
	taken(conn);
	check(!asked_again(), "late: asked again");
	end();
}

static void alive(void)
{
	const struct trail_answer life = { .magic = TRAIL_ALIVE_MAGIC };
	uint64_t before = written();
	uint32_t index, lane;
	int conn;

	/* It waits longer than it would without signs, which come often: each may be late. */
	start("6000");
	switch_on();
	tell('h');
	conn = question(&index, &lane);
	for (int i = 0; i < 80; i++) {
		usleep(100000);
		check(send(conn, &life, sizeof(life), MSG_NOSIGNAL) == sizeof(life),
		      "alive: gave up");
	}
	answer(conn, index);
	taken(conn);
	done('h');
	check(written() > before, "alive: the first hit is lost");
	end();
}

/* The library has room for TRAIL_REGION_MAX + 1 descriptors, 201. */
static void crowded(void)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * 250)];
		struct cmsghdr align;
	} control = { 0 };
	struct trail_answer a = { .magic = TRAIL_ANSWER_MAGIC,
				  .region_count = TRAIL_REGION_MAX + 1,
				  .plan_size = sizeof(struct trail_plan) };
	struct iovec iov = { &a, sizeof(a) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.buf,
			      .msg_controllen = CMSG_SPACE(sizeof(int) * 250) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	uint32_t index, lane;
	int fds[250], conn;

	start("60000");
	switch_on();
	tell('h');
	conn = question(&index, &lane);
	for (int i = 0; i < 250; i++)
		fds[i] = region->fd;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(c), fds, sizeof(fds));
	check(sendmsg(conn, &msg, MSG_NOSIGNAL) > 0, "crowded: not sent");
	done('h');
	tell('n'); /* and it leaves none open */
	done('n');
	close(conn);
	close(to_app); /* it asks once more when it ends, for what it has missed */
	to_app = -1;
	close(question(&index, &lane));
	end();
}

static void closed(void)
{
	uint64_t before = written();
	uint32_t index, lane;
	int conn;

	start("20");
	switch_on();
	tell('h');
	conn = question(&index, &lane);
	done('h');
	tell('c');
	done('c');
	close(conn);
	tell('h');
	conn = question(&index, &lane);
	answer(conn, index);
	done('h');
	usleep(200000);
	tell('h');
	done('h');
	taken(conn);
	check(written() > before, "closed: nothing is recorded");
	end();
}

/* The child puts a question of its own; the answer to the parent's stays for the parent. */
static void forked(void)
{
	uint64_t before = written();
	uint32_t index, lane;
	int conn, of_child;

	start("20");
	switch_on();
	tell('h');
	conn = question(&index, &lane);
	done('h');
	answer(conn, index);
	usleep(200000);
	tell('f');
	of_child = question(&index, &lane);
	done('f');
	close(of_child);
	check(written() == before, "forked: the child took its parent's answer");
	tell('h');
	done('h');
	taken(conn);
	check(written() > before, "forked: the parent's answer is lost");
	end();
}

int main(void)
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

	if (getenv("EXCHANGE_APPLICATION"))
		return application();
	signal(SIGPIPE, SIG_IGN);
	strcpy(dir, "/tmp/test_exchange.XXXXXX");
	if (!mkdtemp(dir))
		return 3;
	snprintf(path, sizeof(path), "%s/apps", dir);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/socket", dir);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (mkdir(path, 01777) || bind(listener, (struct sockaddr *)&addr, sizeof(addr)) ||
	    listen(listener, 64) || region_create(&geo, 4711, &region))
		return 3;
	region_switch(region, 0, 1);
	late();
	alive();
	crowded();
	closed();
	forked();
	region_put(region);
	snprintf(path, sizeof(path), "rm -rf '%s'", dir);
	printf("ok\n");
	return system(path) ? 1 : 0;
}
