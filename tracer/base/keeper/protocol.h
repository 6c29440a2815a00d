/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The protocol between the daemon (client.c) and its keeper (server.c). Private to keeper/.
 *
 * SOCK_SEQPACKET on `keeper` in the state directory. A request is a keeper_msg followed by a name
 * without NUL; PUT carries one descriptor. Each request gets one answer with the same seq: a
 * keeper_msg, for GET followed by the name, with the descriptor; for FIND with the descriptor. The
 * `arg` of an answer is 0 or -errno. The daemon recognizes an answer to a request that timed out by
 * its seq, and drops it.
 *
 * The keeper holds a flock on `keeper.lock` in the state directory while it lives. Only the lock's
 * holder may replace the socket.
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
	KEEPER_HELLO = 1,       /* answered with 0 */
	KEEPER_PUT,
	KEEPER_DROP,
	KEEPER_GET,             /* arg: index, from 0 until -ENOENT; PUT and DROP change indices */
	KEEPER_QUIT,
	KEEPER_FIND,            /* answered with the descriptor of the name, or -ENOENT */
	KEEPER_COMES,           /* a daemon will take the mount; keepers before 0.2.0: -ENOSYS */
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
 * Sends msg, name (may be NULL) and fd (-1: none) without waiting. 0 or -errno; -EAGAIN: the queue
 * is full.
 */
int keeper_send(int sock, const struct keeper_msg *msg, const char *name, int fd);
/*
 * Receives one packet; adds a NUL to the name. Returns the name's length, or -errno: -EPIPE at the
 * end, -EBADMSG for an invalid packet, whose descriptors are closed. *fd is -1, or owned by the
 * caller.
 */
int keeper_receive(int sock, struct keeper_packet *p, int *fd);
/*
 * The socket's address; of a long path through /proc/self/fd/DIR, so dir must stay open. Its
 * length.
 */
socklen_t keeper_address(int dir, const char *state_dir, struct sockaddr_un *to);

#endif
