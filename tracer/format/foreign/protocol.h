/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon and a process that reads a foreign trace tell each other. Both are one
 * executable, so structures are sent as they are.
 *
 * A line is a socket and a memory for one thread of the daemon.
 *
 * The process begins with one descriptor, FOREIGN_SOCKET, of the first line. The first message on
 * it is a greeting, with the memories and the other sockets of all lines; messages with the files
 * follow. After that each message is an ask, which the process answers before it takes the next one
 * of this line. The bytes of an answer are at the begin of the line's memory.
 *
 * The process trusts the daemon. The daemon trusts nothing: a trace may have taken the process
 * over.
 */
#ifndef TRACER_FOREIGN_PROTOCOL_H
#define TRACER_FOREIGN_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "tracer/base/err.h"
#include "tracer/base/ring/input.h"

#define FOREIGN_SOCKET 3
#define FOREIGN_LINES 4u        /* threads of the process, which read at the same time */
#define FOREIGN_FILES_PIECE 250u        /* descriptors in a message: the kernel takes 253 */
/* Bytes of a memory, a memfd of fixed size: pages exist only where an answer was. */
#define FOREIGN_ANSWER_MAX (UINT64_C(256) << 20)
/* Seconds of CPU time for an ask: these, and one for each 16 MiB of the files */
#define FOREIGN_CPU_MAX 60u
#define FOREIGN_CPU_BYTES 24u   /* 2^24 */

struct greeting {
	uint32_t uid, gid;      /* whose rights the process keeps */
	uint32_t files;
	uint32_t cpu_max;       /* seconds for an ask */
	uint64_t table;         /* bytes of the list of files, in the first memory (serve.c) */
};

/* What comes with a message that has descriptors */
union files_message {
	char bytes[CMSG_SPACE(FOREIGN_FILES_PIECE * sizeof(int))];
	struct cmsghdr align;
};

enum ask_what { ASK_OPEN, ASK_READ, ASK_PACKETS, ASK_LOSSES };

struct ask {
	uint32_t what;          /* enum ask_what */
	uint32_t stream;        /* its number in the model; ASK_OPEN: 0 */
	struct input_place at;
	uint64_t want;
};

/*
 * ASK_OPEN: the bytes are the model (model.h). ASK_READ: events. ASK_PACKETS: an array of struct
 * input_packet; ret 1: all of them; 0: the list stops before a packet without times. ASK_LOSSES: an
 * array of `count` struct input_loss, and the lines.
 */
struct answer {
	int32_t ret;            /* of the function that was called; negative: there are no bytes */
	uint32_t cpu;
	struct input_place at;
	uint64_t bytes;
	uint64_t events, packets, count;
	struct tr_err err;      /* if ret is negative; its sentence may be "" */
};

#endif
