/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a daemon knows of the requests that the daemons before it had begun. This program is the
 * kernel, at the other end of a socket: it sends the requests that were not answered again. Each
 * daemon is killed: all that is left is the table.
 */
#include <sys/socket.h>

#include "fs/base/handover.c"
#include "fs/base/handover_doing.c"
#include "fs/base/handover_text.c"
#define own own_channel         /* each file has one */
#include "fs/fuse/channel.c"
#include "tests/lib/test.h"

#define DAEMONS 600

struct fs fs;
static int sockets[2];     /* the daemon's, and the kernel's */

void say(enum say_level level, const char *format, ...)
{
	(void)level, (void)format;
}

static void send_request(uint64_t unique, uint32_t opcode)
{
	struct fuse_in_header h = { .len = sizeof(h), .opcode = opcode, .unique = unique };

	CHECK(write(sockets[1], &h, sizeof(h)) == sizeof(h));
}

/* The next reply or notification of the daemon: its number, 0 for a notification. */
static uint64_t answered(int *error)
{
	char buf[HANDOVER_REPLY];
	struct fuse_out_header out;

	CHECK(recv(sockets[1], buf, sizeof(buf), 0) >= (ssize_t)sizeof(out));
	memcpy(&out, buf, sizeof(out));
	*error = out.error;
	return out.unique;
}

/* A thread of the daemon takes the next request. Returns whether it was begun before. */
static bool begins(unsigned index, uint64_t unique)
{
	char buf[HANDOVER_REPLY];

	channel_thread(index);
	CHECK(channel_read(sockets[0], buf, sizeof(buf), NULL) == sizeof(struct fuse_in_header));
	CHECK(channel_unique() == unique);
	return channel_again();
}

/* The thread that has begun the request has its reply, which the daemon does not live to send. */
static void note_reply(unsigned index, uint64_t unique, int error)
{
	struct fuse_out_header out = { .len = sizeof(out), .error = error, .unique = unique };
	struct handover_doing *d = &handover_head()->doing[index];

	memcpy(d->reply, &out, sizeof(out));
	d->len = sizeof(out);
}

static void begin_table(void)
{
	CHECK(!handover_begin("/trace"));
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets));
}

/* The next daemon gets `count` requests that were not answered. */
static void next_daemon(const uint64_t *unanswered, const uint32_t *opcodes, size_t count)
{
	int error;

	channel_end();
	for (size_t i = 0; i < count; i++)
		send_request(unanswered[i] | RESENT, opcodes[i]);
	CHECK(!channel_resume(sockets[0]));
	CHECK(answered(&error) == 0 && error == NOTIFY_RESEND);
}

static void end_table(void)
{
	channel_end();
	handover_end();
	close(sockets[0]);
	close(sockets[1]);
}

/* A read that no daemon answers takes one entry, and a change is known to be begun. */
static void waits_for_long(void)
{
	const uint64_t waiting[] = { 2, 4 }, both[] = { 2, 4, 6 };
	const uint32_t opcodes[] = { FUSE_READ, FUSE_POLL, FUSE_RMDIR };

	begin_table();
	send_request(2, FUSE_READ);
	send_request(4, FUSE_POLL);
	begins(0, 2);
	begins(1, 4);
	for (int i = 0; i < DAEMONS; i++) {
		next_daemon(waiting, opcodes, 2);
		begins((unsigned)i % HANDOVER_THREADS, 2);
		begins((unsigned)(i + 1) % HANDOVER_THREADS, 4);
	}
	send_request(6, FUSE_RMDIR);
	CHECK(!begins(5, 6));
	next_daemon(both, opcodes, 3);
	begins(0, 2);
	begins(1, 4);
	CHECK(begins(2, 6));
	end_table();
}

/* No entry is free: changes and replies are kept. */
static void has_no_room(void)
{
	int error;

	begin_table();
	for (uint64_t i = 0; i < HANDOVER_EARLIER; i++)
		handover_head()->earlier[i] = (struct handover_doing){ .unique = 20000 + 2 * i,
								       .opcode = FUSE_READ };
	send_request(10002, FUSE_MKDIR);
	send_request(10004, FUSE_READ);
	CHECK(!begins(0, 10002) && !begins(1, 10004));
	note_reply(1, 10004, -5);
	next_daemon((uint64_t[]){ 10002, 10004 }, (uint32_t[]){ FUSE_MKDIR, FUSE_READ }, 2);
	CHECK(begins(0, 10002));
	/* The other one is answered as it was, when a thread takes it. */
	send_request(10006, FUSE_READ);
	CHECK(!begins(1, 10006));
	CHECK(answered(&error) == (10004 | RESENT) && error == -5);
	end_table();
}

/* A request that was begun again, and has its reply this time. */
static void gets_its_reply(void)
{
	const uint64_t one[] = { 8 };
	const uint32_t opcodes[] = { FUSE_RMDIR };
	int error;

	begin_table();
	send_request(8, FUSE_RMDIR);
	CHECK(!begins(3, 8));
	next_daemon(one, opcodes, 1);
	CHECK(begins(4, 8));
	note_reply(4, 8, -2);
	next_daemon(one, opcodes, 1);
	send_request(10, FUSE_READ);
	CHECK(!begins(0, 10));
	CHECK(answered(&error) == (8 | RESENT) && error == -2);
	/* It is answered: nothing is left of it. */
	next_daemon((uint64_t[]){ 10 }, (uint32_t[]){ FUSE_READ }, 1);
	for (size_t i = 0; i < HANDOVER_EARLIER; i++)
		CHECK(handover_head()->earlier[i].unique != 8);
	end_table();
}

int main(void)
{
	CASE(waits_for_long);
	CASE(has_no_room);
	CASE(gets_its_reply);
	return test_summary();
}
