/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far the output is, for the next daemon should this one be killed: a file `output` in the
 * session's state directory, with a head and a slot for each stream, each written at once after
 * what it tells of was done. What the files have beyond that is cut off, and what the rings have
 * beyond that is written. Private to tracer/.
 */
#ifndef TRACER_OUTPUT_CHECKPOINT_H
#define TRACER_OUTPUT_CHECKPOINT_H

#include <stdint.h>
#include <sys/types.h>

#define CHECKPOINT_MAGIC UINT64_C(0x7473747570747531)

struct checkpoint_head {
	uint64_t magic;
	uint64_t dev, ino;              /* of the output directory */
	uint64_t chunk;                 /* number of the current one */
	int64_t begin;                  /* when it began, ns since the epoch */
	uint64_t moving;                /* 1: it is being moved to the archives, as `archive` */
	uint64_t archives;              /* so many are complete */
	char archive[64];               /* the last one; or the one it becomes */
	uint64_t cleared;               /* how often the chunk was cleared */
	uint64_t pad[8];
};

struct checkpoint_slot {
	uint64_t name;                  /* of the stream, as a digest */
	uint64_t key;                   /* of the region */
	uint32_t ring;
	uint32_t variant;               /* of its files' name: 0, unless that was taken */
	uint64_t lost_before;           /* in a region that is gone */
	uint64_t chunk, cleared;        /* that the file belongs to */
	uint64_t pos;                   /* in the ring: what is below was written */
	uint64_t seq, lost, ts;	/* of the next packet; told so far; end of the last packet */
	uint64_t first;                 /* serial of the first file in this chunk */
	uint64_t serial;                /* of the current file; 0: none yet */
	uint64_t size, index_size;
	uint64_t dev, ino;
	uint64_t events;                /* in the ring up to pos */
	uint64_t begin;                 /* when the last packet begins; 0: there was none */
	uint64_t pad[13];
	uint64_t check;                 /* of all that is above */
};

_Static_assert(sizeof(struct checkpoint_slot) == 256,
	       "a slot lies in one page, so that it is written whole or not at all");
_Static_assert(sizeof(struct checkpoint_head) <= 4096, "the head lies in the first page");

int checkpoint_open(int dir, int *fd);                    /* made if it is missing */
int checkpoint_head_get(int fd, struct checkpoint_head *h); /* -ENOENT: it is new */
int checkpoint_head_put(int fd, const struct checkpoint_head *h);
/* -ENOENT behind the last */
int checkpoint_slot_get(int fd, uint32_t i, struct checkpoint_slot *s);
int checkpoint_slot_put(int fd, uint32_t i, struct checkpoint_slot *s);     /* sets check */

#endif
