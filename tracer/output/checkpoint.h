/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The checkpoint: how far the output is, for the next daemon if this one is killed. It is the file
 * `output` in the session's state directory and has a head and a slot for each stream. Each is
 * written just after the step that it records. The next daemon cuts off what the files have beyond
 * their slots, and writes what the rings have beyond them.
 */
#ifndef TRACER_OUTPUT_CHECKPOINT_H
#define TRACER_OUTPUT_CHECKPOINT_H

#include <stdint.h>
#include <sys/types.h>

#define CHECKPOINT_MAGIC UINT64_C(0x7473747570747531)

struct checkpoint_head {
	uint64_t magic;
	uint64_t dev, ino;              /* identity of the output directory */
	uint64_t chunk;                 /* number of the current chunk */
	int64_t begin;                  /* of the current chunk, ns since the epoch */
	uint64_t moving;                /* 1: the chunk is being moved to `archive` */
	uint64_t archives;              /* number of complete archives */
	char archive[64];               /* name of the last archive, or of the one being made */
	uint64_t cleared;               /* how many clears there were */
	uint64_t relay_time;            /* of the last session on a relay, s since the epoch */
	uint64_t relay_connections;     /* sessions that a relay has made */
	uint64_t relay_attempts;        /* sessions that it was asked to make */
	uint64_t pad[5];
};

struct checkpoint_slot {
	uint64_t name;                  /* hash of the stream's name; 0: no valid slot */
	uint64_t key;                   /* of the region */
	uint32_t ring;
	/* number in the files' names, if the plain name was taken; else 0 */
	uint32_t variant;
	uint64_t lost_before;           /* events discarded in an earlier region of the stream */
	uint64_t chunk, cleared;        /* of the current file */
	uint64_t pos;                   /* in the ring: all below is in files */
	/* packet_seq_num of the next packet; events_discarded and timestamp_end of the last one */
	uint64_t seq, lost, ts;
	uint64_t first;                 /* serial of the first file in this chunk */
	uint64_t serial;                /* serial of the current file; 0: none yet */
	uint64_t size, index_size;
	uint64_t dev, ino;
	uint64_t events;                /* in the ring below pos */
	uint64_t begin;                 /* timestamp_begin of the last packet; 0: none yet */
	uint64_t plain_size;            /* of sealed packets: of the file as views see it */
	uint64_t pad[12];
	uint64_t check;                 /* hash of all fields above */
};

_Static_assert(sizeof(struct checkpoint_slot) == 256,
	       "a slot lies in one page, so that it is written whole or not at all");
_Static_assert(sizeof(struct checkpoint_head) <= 4096, "the head lies in the first page");

int checkpoint_open(int dir, int *fd);	/* Opens the checkpoint, and makes it if it is missing. */
int checkpoint_head_get(int fd, struct checkpoint_head *h); /* -ENOENT: no head yet */
int checkpoint_head_put(int fd, const struct checkpoint_head *h);
/* -ENOENT: i is after the last slot. */
int checkpoint_slot_get(int fd, uint32_t i, struct checkpoint_slot *s);
int checkpoint_slot_put(int fd, uint32_t i, struct checkpoint_slot *s);     /* sets check */

#endif
