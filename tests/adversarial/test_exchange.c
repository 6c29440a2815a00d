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
#include <sys/syscall.h>

#include "tests/adversarial/false_daemon.h"
#include "tests/lib/raw_fork.h"

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

/* ---- the daemon ---- */

/* Every second answer has its plan in the message. */
static void answer(int conn, uint32_t object)
{
	static bool within;
	struct false_plan plan = good_plan(object);
	int fd = within ? -1 : plan_memfd(&plan, sizeof(plan));

	send_plan(conn, &plan, sizeof(plan), fd, region->fd);
	if (!within)
		close(fd);
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
	if (is_application())
		return application();
	daemon_open();
	late();
	alive();
	crowded();
	closed();
	forked();
	return daemon_close();
}
