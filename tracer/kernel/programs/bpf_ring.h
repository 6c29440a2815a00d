/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rings of a channel, which its programs write (bpf_claim.c) and drains read (bpf_ring.c), and
 * the texts that come after their events (bpf_lates.c). Private to bpf*.c, as bpf.h.
 */
#ifndef TRACER_BACKEND_BPF_RING_H
#define TRACER_BACKEND_BPF_RING_H

#include "tracer/kernel/backend/kring_reader.h"

enum {
	BPF_SLOTS = 2048, BPF_CONTROL = 4096 + 4 * BPF_SLOTS,
	/*
	 * Programs that run at the same time on a CPU, each in an interrupt of the one before: of a
	 * thread, a softirq, an interrupt, an NMI
	 */
	BPF_LEVELS = 4,
};

/* ---- bpf_ring.c ---- */

/*
 * The rings of a CPU. A program writes to the ring of its level, the number of programs that it has
 * interrupted, so no other program writes to that ring meanwhile, and plain stores suffice. That
 * number is `nest` of the first ring: a program loads it, stores one more, and stores what it had
 * loaded when it ends. What interrupts it in between leaves the number as it was.
 *
 * All of what a program interrupted has ended when `nest` is 0. So a reader that finds 0, and the
 * same heads before and after it, has all records up to that time.
 */
struct bpf_control {                    /* the first pages of a CPU's value */
	struct {
		struct kring ring;
		uint64_t pad[(128 - sizeof(struct kring)) / 8];
	} levels[BPF_LEVELS];
	uint64_t deep;                  /* events lost because all levels were in use */
	/* Written by the daemon. */
	uint32_t on;                    /* events are recorded */
	uint32_t tracked;               /* events only of the threads in the map of threads */
	/* CLOCK_MONOTONIC and the TSC at the same moment: the last time the ring was read */
	uint64_t mono, cycles;
	char channel[256];              /* the channel's name, for people and tests */
	/*
	 * Of each event, at its slot: the body that records it has this number. So an event is off
	 * at once, although it takes the kernel longer to detach a program.
	 */
	uint32_t tokens[BPF_SLOTS];
	uint32_t last_token;            /* of the first CPU: the newest one */
	uint64_t passed;                /* events that drains have given to the channel */
	uint64_t dropped;               /* events that killed daemons had read, and not given */
	/* Events that a filter had not decided when they were recorded, lost or missed. */
	uint64_t undecided;
	/* Of the first CPU: see bpf_misses.c. missed_before: by programs that were dropped. */
	uint64_t missed, missed_before;
};

struct bpf_ring {
	int map;                        /* -1: there is none yet */
	uint32_t cpus;
	/* Of the first level; of each of the others, which hold what happens in interrupts. */
	struct kring_shape geo, nested;
	size_t stride;                  /* bytes of each CPU */
	size_t nested_at, nested_stride;        /* where the second level is; to the next one */
	uint32_t text_max;              /* bytes of a text, with its NUL */
	bool overwrite, tsc;
	uint8_t *memory;                /* of all CPUs, mapped */
	struct kring_reader *readers;   /* of each CPU, of its levels */
	/* Of bpf_ring_collect: entries, from `next` on; those of each level, not merged yet */
	struct md_buf records, levels[BPF_LEVELS];
	struct md_buf *filling;         /* one of these */
	size_t next;
	uint64_t until;                 /* a later record may not be in it */
	const uint8_t *front;           /* the contexts of the record that follows */
	uint32_t front_len;
	uint64_t missed;                /* events that were overwritten before that record */
	struct bpf_lates *lates;        /* of bpf_lates.c; NULL: there was none yet */
};

struct bpf_entry {                      /* the contexts and the record follow, padded to 8 bytes */
	uint64_t time;
	uint64_t missed;                /* events that were overwritten since the one before */
	uint32_t len, contexts;         /* bytes */
};

static inline size_t bpf_entry_size(const struct bpf_entry *e)
{
	return sizeof(*e) + ((e->contexts + 7) & ~(size_t)7) + ((e->len + 7) & ~(size_t)7);
}

/* Makes the map, or (map >= 0) takes over the one of an earlier daemon. 0 or -errno. */
int bpf_ring_open(struct bpf_ring *r, int map, const char *channel,
		  const struct backend_geometry *g, struct tr_err *err);
void bpf_ring_close(struct bpf_ring *r);
struct bpf_control *bpf_ring_control(const struct bpf_ring *r, uint32_t cpu);
/*
 * Moves what the ring of a CPU holds to `records`, with times in the channel's clock, and sets
 * `until`. 0 or -errno.
 */
int bpf_ring_collect(struct bpf_ring *r, uint32_t cpu);
/* What a CPU's rings have lost so far. */
void bpf_ring_lost(const struct bpf_ring *r, uint32_t cpu, struct source_counts *losses);

/* The reader of a ring: how far it was read. */
static inline struct kring_reader *bpf_ring_reader(const struct bpf_ring *r, uint32_t cpu,
						   uint32_t level)
{
	return &r->readers[cpu * BPF_LEVELS + level];
}

/* ---- bpf_lates.c: KREC_LATE; caller drains the channel ---- */

/* A drain begins: forgets what is too old or too much. */
void bpf_lates_begin(struct bpf_ring *r);
/* Keeps one, unless it is kept already. */
void bpf_lates_add(struct bpf_ring *r, const uint8_t *record, size_t len);
/*
 * Completes the record of an entry: the result is valid until the next call. NULL: its KREC_LATE
 * was not found.
 */
const uint8_t *bpf_lates_complete(struct bpf_ring *r, const uint8_t *record, size_t *len);
/* Looks for further ones in what no drain has read of any CPU. Caller also holds the lock. */
void bpf_lates_search(struct bpf_ring *r);
void bpf_lates_free(struct bpf_ring *r);

#endif
