/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon and its keeper say to each other: keeper/client.c and keeper/server.c. Private to tracer/.
 *
 * SOCK_SEQPACKET on `keeper` in the state directory. A request is a keeper_msg and the name behind it (no NUL); PUT
 * brings one descriptor. Each gets one answer with the same seq: a keeper_msg, for GET with the name behind it and the
 * descriptor. `arg` of an answer is 0 or -errno. An answer that came too late for who asked is known by its seq and
 * dropped.
 *
 * `keeper.lock` in the state directory is flocked by the keeper as long as it lives: who has it may replace the socket.
 */
#ifndef TRACER_KEEPER_PROTOCOL_H
#define TRACER_KEEPER_PROTOCOL_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#define KEEPER_MAGIC 0x5045454bu        /* "KEEP" */
#define KEEPER_NAME_MAX 250u
#define KEEPER_SOCKET "keeper"
#define KEEPER_LOCK "keeper.lock"

enum keeper_op {
	KEEPER_HELLO = 1,       /* are you there? */
	KEEPER_PUT,
	KEEPER_DROP,
	KEEPER_GET,             /* arg: index, from 0 until -ENOENT; indices hold still until the next PUT or DROP */
	KEEPER_QUIT,
};

struct keeper_msg {
	uint32_t magic, op, seq;
	int32_t arg;
};

struct keeper_packet {
	struct keeper_msg msg;
	char name[KEEPER_NAME_MAX + 1];
};

/*
 * Sends msg, name and fd (-1: none), without waiting (-EAGAIN: the queue is full). 0 or -errno. receive: length of the name or -errno (0 bytes = -EPIPE); the name
 * gets its NUL; *fd is -1 or owned by the caller. A packet with anything else than that is -EBADMSG, and what came with
 * it is closed.
 */
int keeper_send(int sock, const struct keeper_msg *msg, const char *name, int fd);
int keeper_receive(int sock, struct keeper_packet *p, int *fd);
/* The socket's address; path too long for it: through /proc/self/fd of the opened directory, which must stay open. */
socklen_t keeper_address(int dir, const char *state_dir, struct sockaddr_un *to);

#endif
