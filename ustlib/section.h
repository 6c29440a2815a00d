/* SPDX-License-Identifier: MIT */
/*
 * The restartable sections (rseq(2)) that write to a ring; x86-64, aarch64 and riscv64. The kernel
 * sends a thread that was preempted, migrated or signalled between `1:` and `2:` to `4:`, so that
 * what is between runs on one CPU without interruption by another writer of this CPU's rings, or
 * not to the end. The last store, to head, commits.
 *
 * A section compares the slot's seq with what the caller saw: a slot that was retired before
 * membarrier(2) restarted all sections is used by none that begins after it.
 */
#ifndef USTLIB_SECTION_H
#define USTLIB_SECTION_H

#include <stddef.h>

#include "ustlib/lib.h"

enum section {
	SECTION_DONE,
	SECTION_ARMED,
	SECTION_OFF,
	SECTION_STALE,
	SECTION_SLOW,
	SECTION_ABORTED,
};

_Static_assert(offsetof(struct slot, limit) == 40 && offsetof(struct slot, clock_mult) == 48 &&
		       offsetof(struct slot, ring_count) == 64 &&
		       offsetof(struct slot, data_offset) == 72 &&
		       offsetof(struct slot, seq) == 80 && offsetof(struct slot, on_value) == 88 &&
		       offsetof(struct slot, header_size) == 92 &&
		       offsetof(struct slot, header_ids) == 96,
	       "known to the assembly");
_Static_assert(offsetof(struct rseq_area, cpu_id) == 4 && offsetof(struct rseq_area, rseq_cs) == 8,
	       "known to the assembly");

/* Where the assembly jumps to: what it returns. */
#define SECTION_EXITS \
	off: return SECTION_OFF; \
	aborted: return SECTION_ABORTED;
#define SECTION_EVENT_EXITS \
	SECTION_EXITS \
	stale: return SECTION_STALE; \
	slow: return SECTION_SLOW;

/*
 * An unchanged head does not prove that the ring is unchanged since the slow path read it: a
 * section that was aborted between its last two stores leaves head, and a later last_ts. A reader
 * may have cut a packet at that head which ends at that last_ts. A commit with the time that was
 * read before would put an earlier event into the next packet (guarantee G3 of abi/ring.h). So
 * compare last_ts, too.
 *
 * What the slow path has computed; it is stored only if no other writer came in between.
 */
struct commit {
	struct trail_ring *ring;        /*  0 */
	const uint8_t *on;              /*  8 */
	uint64_t head;                  /* 16: expected */
	uint32_t cpu;                   /* 24: expected */
	uint8_t on_value, pad[3];       /* 28: expected */
	uint8_t *to;                    /* 32: an event: where its header goes; a switch: NULL */
	uint64_t header_len;            /* 40 */
	uint8_t header[16];             /* 48 */
	struct trail_subbuf *close;     /* 64: a switch: entry of the sub-buffer that ends */
	struct trail_subbuf *begin;     /* 72: and of the one that begins */
	uint64_t close_facts[4];        /* 80: end … end_lost */
	uint64_t begin_facts[4];        /* 112: seq … begin_lost */
	/* 144: stored together, 16-byte aligned; or ts (with TRAIL_TS_OPEN) before head */
	uint64_t new_head, ts;
	uint64_t last_ts;               /* 160: expected */
} __attribute__((aligned(16)));

_Static_assert(offsetof(struct commit, on_value) == 28 && offsetof(struct commit, to) == 32 &&
		       offsetof(struct commit, header) == 48 &&
		       offsetof(struct commit, close) == 64 &&
		       offsetof(struct commit, begin_facts) == 112 &&
		       offsetof(struct commit, new_head) == 144,
	       "known to the assembly");
_Static_assert(offsetof(struct commit, last_ts) == 160, "known to the assembly");

#if defined(__x86_64__)
#include "ustlib/section_x86_64.inc"
#elif defined(__aarch64__)
#include "ustlib/section_aarch64.inc"
#else
#include "ustlib/section_riscv64.inc"
#endif

#ifndef __x86_64__
/*
 * Times are the kernel's clock: its records have no other one that programs can read, and the vDSO
 * reads the processor's counter for it.
 */
static inline enum section section_event(struct rseq_area *rs, const struct slot *slot,
					 uint64_t seq, const void *data, size_t len)
{
	(void)rs, (void)slot, (void)seq, (void)data, (void)len;
	return SECTION_SLOW;
}

static inline enum section section_event_wake(struct rseq_area *rs, const struct slot *slot,
					      uint64_t seq, const void *data, size_t len)
{
	(void)rs, (void)slot, (void)seq, (void)data, (void)len;
	return SECTION_SLOW;
}
#endif

#ifndef TRAIL_STORES_WORDS
/* Only commits that are two stores leave something to do. */
static inline enum section section_settle(struct rseq_area *rs, const struct commit *c)
{
	(void)rs, (void)c;
	return SECTION_DONE;
}
#endif

#endif
