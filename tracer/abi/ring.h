/* SPDX-License-Identifier: MIT */
/*
 * The rings of applications: layout and protocol, which the library and the daemon share.
 *
 * A region is one memfd: a header page, the switch bytes, then ring_count rings. A channel has one
 * region per owner (user or process), with one ring per possible CPU. Threads that cannot use
 * restartable sequences write to a second region, with one ring per thread.
 *
 * Terms. The head is a byte position that only grows; its place in the data area is head % (count *
 * size). Sub-buffer k is the run of positions [k * size, (k + 1) * size). The writer is a thread
 * inside one restartable section on the ring's CPU; the reader is the daemon.
 *
 * A ring begins with head 0, which is no place for events: the first switch opens sub-buffer 1. So
 * head / size is the number of switches. A switch is a commit of its own ({head, last_ts} = {start
 * of the next sub-buffer, now}): a writer stores into a sub-buffer only when head is in it.
 *
 * Guarantees
 *   G1  All bytes below head are final, and head is always an event boundary. There is no
 *       reservation that a writer could leave uncommitted.
 *   G2  A section stores payload only above head, in the sub-buffer of head, and at most
 *       TRAIL_SLACK bytes more than the event, in the same sub-buffer. An aborted section leaves
 *       bytes there that the next one overwrites.
 *   G3  Times never decrease in a ring, and time of the last event <= last_ts <= time of the next
 *       event while head does not move. An aborted section may have stored last_ts, but only within
 *       the same 2^27 ns epoch: the fast path writes 27 bits of the time only if `ts >> 27` equals
 *       that of last_ts; every other path commits {head, last_ts} with one store. A section whose
 *       time was read before it began commits only if last_ts is not later, or has not changed.
 *       Without stores of 16 bytes (TRAIL_STORES_WORDS), a path that commits in another epoch
 *       makes three stores: last_ts with the bit TRAIL_TS_OPEN, head, last_ts without the bit. A
 *       path that finds the bit in last_ts writes the whole time.
 *   G4  The side entry of sub-buffer k has its `end` values once head is beyond the sub-buffer, its
 *       `begin` values once head is in it. 2 * N entries keep those of a sub-buffer intact as long
 *       as its bytes can be read.
 *   G5  tally is {head after, commits after}, stored at once just before head; every commit (event
 *       or switch) adds one. While head does not move, the number of commits is tally.commits if
 *       tally.head == head, else tally.commits - 1: at most one uncommitted store can be in tally,
 *       because every section starts from this same rule. Events = commits - head / size. With
 *       TRAIL_STORES_WORDS, tally.head is the lowest 32 bits of both, which are enough to compare
 *       them, and tally.commits, which is stored before, says the other bits of the number.
 *   G6  After the daemon has cleared a switch byte and one of its threads has run once on each CPU
 *       (rings of threads: has changed the generation in head), no event with that id is committed
 *       any more: sections test the byte, and a thread switch aborts them.
 *
 * Memory order (x86: plain stores, TSO). Writer: payload, side entry, tally, last_ts, then head
 * with release; what it stores after it has found a head is seen after that head, too (a release
 * fence in ring_write.h, a load with acquire in sections). Reader: head with acquire, then the
 * rest. The reader stores `consumed` with release; the writer loads it with acquire before it uses
 * a sub-buffer again. The reader in overwrite mode copies, issues an acquire fence, loads head
 * again, and discards what head has meanwhile wrapped around to. tests/unit/ring/test_order.c tries
 * it.
 */
#ifndef TRACER_ABI_RING_H
#define TRACER_ABI_RING_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Processors without an instruction that stores 16 bytes at once. (Those that can be 32-bit
 * companions of one that has it store pairs, too: both write to the same rings.)
 */
#if !defined(__x86_64__) && !defined(__i386__) && !defined(__aarch64__) && !defined(__arm__)
#define TRAIL_STORES_WORDS
#endif

#define TRAIL_REGION_MAGIC 0x4e474552u  /* "REGN" */
/* Of regions whose tallies are pairs (guarantee G5) */
#define TRAIL_REGION_PAIRS 3u
#ifdef TRAIL_STORES_WORDS
#define TRAIL_REGION_VERSION 4u
/* In last_ts: the next event must have its whole time, because the epoch is not committed yet. */
#define TRAIL_TS_OPEN (UINT64_C(1) << 63)
#else
#define TRAIL_REGION_VERSION TRAIL_REGION_PAIRS
#define TRAIL_TS_OPEN UINT64_C(0)
#endif
#define TRAIL_PAGE 4096u
#define TRAIL_SLACK 16u                 /* bytes after an event that a copy may overwrite */

/*
 * Headers of events. The first 32 bits of the first two are an id of 5 bits, and 27 bits of the
 * time. The first byte begins with its lowest bit, on big-endian hosts with its highest.
 */
#define TRAIL_HEADER_COMPACT 4u         /* bytes; for ids below TRAIL_ID_WIDE */
#define TRAIL_HEADER_WIDE 6u            /* then the id, 16 bits, follows */
#define TRAIL_HEADER_EXTENDED 13u       /* one byte; then a 32-bit id and a 64-bit time follow */
#define TRAIL_ID_WIDE 30u               /* the ids of 5 bits that mark the two long headers */
#define TRAIL_ID_EXTENDED 31u
#define TRAIL_EPOCH_SHIFT 27
#define TRAIL_STAMP_MASK ((1u << TRAIL_EPOCH_SHIFT) - 1)

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define TRAIL_HEADER_WORD(id, ts) \
	((uint32_t)(id) << TRAIL_EPOCH_SHIFT | ((uint32_t)(ts) & TRAIL_STAMP_MASK))
#define TRAIL_HEADER_STAMP(word) ((word) & TRAIL_STAMP_MASK)
#define TRAIL_BYTE_EXTENDED (TRAIL_ID_EXTENDED << 3)
#else
#define TRAIL_HEADER_WORD(id, ts) ((uint32_t)(id) | (uint32_t)(ts) << 5)
#define TRAIL_HEADER_STAMP(word) ((word) >> 5)
#define TRAIL_BYTE_EXTENDED TRAIL_ID_EXTENDED   /* the first byte of an extended header */
#endif

#define TRAIL_SUBBUF_MIN 4096u
#define TRAIL_SUBBUF_MAX (1u << 30)
#define TRAIL_SUBBUF_COUNT_MAX 4096u

/* COUNT: hits are counted, no event is recorded; the data areas are struct trail_counter */
enum trail_mode { TRAIL_MODE_DISCARD = 0, TRAIL_MODE_OVERWRITE = 1, TRAIL_MODE_COUNT = 2 };
enum trail_ring_kind { TRAIL_RINGS_CPU = 0, TRAIL_RINGS_THREAD = 1 };

/* Aligned to 8 bytes in shared memory, also on machines that align uint64_t to 4. */
typedef uint64_t trail_u64 __attribute__((aligned(8)));

/*
 * Page 0 of a region. Constant after region_create(), but for `reclaims`: applications map it and
 * the switch bytes read-only. One that writes to them all the same spoils the copy that later
 * applications read; the daemon does not read it, and restores both before it sends the region to
 * an application.
 */
struct trail_region {
	uint32_t magic, version;
	uint32_t mode;                  /* enum trail_mode */
	uint32_t kind;                  /* enum trail_ring_kind */
	uint32_t ring_count;
	uint32_t subbuf_count;          /* N, a power of two, >= 2 */
	trail_u64 subbuf_size;           /* a power of two */
	trail_u64 switch_offset;         /* uint8_t[switch_count]: one byte per event id, 0 = off */
	trail_u64 switch_count;
	trail_u64 ring_offset, ring_stride;      /* ring i is at ring_offset + i * ring_stride */
	trail_u64 data_offset;           /* of the data area in a ring */
	trail_u64 size;                  /* of the region */
	trail_u64 key;                   /* as in the attach reply */
	/*
	 * ns = (tsc * clock_mult >> 32) + clock_base. clock_mult 0: CLOCK_MONOTONIC, or with
	 * TRAIL_CLOCK_PLUGIN as clock_base the clock plug-in of each process, in its own unit.
	 */
	trail_u64 clock_mult;
	trail_u64 clock_base;
	/* 1: writers populate sub-buffers (MADV_POPULATE_WRITE); 2: all when they map the region */
	uint32_t populate;
	uint32_t reclaims;              /* changes when sub-buffers that were populated are not */
	uint32_t reserved[4];
};

#define TRAIL_POPULATE_ALL 2u
#define TRAIL_BELL_ARMED 1u
#define TRAIL_CLOCK_PLUGIN UINT64_MAX

#define TRAIL_THREAD_RINGS 64u          /* rings in a region of kind TRAIL_RINGS_THREAD */

/*
 * One entry per sub-buffer number modulo 2 * N, so that a writer that closes a sub-buffer never
 * changes the entry of one that can still be read.
 */
struct trail_subbuf {
	trail_u64 seq;                   /* sub-buffer number */
	trail_u64 begin_ts;              /* opening time: no event in it is earlier */
	trail_u64 begin_events;          /* events committed to the ring before it */
	trail_u64 begin_lost;            /* `lost` at that time */
	trail_u64 end;                   /* position after its last event */
	trail_u64 end_ts;                /* last_ts when the writer closed it */
	trail_u64 end_events;            /* events committed to the ring up to its end */
	trail_u64 end_lost;
};

/* See G5. ring_put_tally() stores it, trail_commits() reads it. */
struct trail_tally { trail_u64 head, commits; };

/*
 * The hits of an event in a region with TRAIL_MODE_COUNT: entry `id` of a ring's data area. Their
 * number is hits + added - cleared, of all rings. A counter that is not cleared only grows, so a
 * reader needs no order between the loads.
 */
struct trail_counter {
	/* Only restartable sections on the ring's CPU add to it, with one instruction each. */
	trail_u64 hits;
	trail_u64 added;                 /* by all other writers, atomically */
	trail_u64 cleared;               /* hits + added at the last clear; the daemon stores it */
	trail_u64 pad;
};

/* The control block of a ring. */
struct trail_ring {
	/* The writer's cache line. */
	trail_u64 head;                  /* thread rings: generation << 48 | position */
	/* head and last_ts: 16-byte aligned, because slow paths store them together */
	trail_u64 last_ts;
	struct trail_tally tally;       /* 16-byte aligned */
	/*
	 * Rings that the daemon fills from a buffer whose records are gone once they are read: the
	 * records that were read there and are here, plus 1. 0: not known. The writer stores it
	 * after each commit, so the next daemon knows what this one had read and not stored.
	 */
	trail_u64 source_read;
	/*
	 * Of the events that the source's filters have not decided: those that are here, or that
	 * were lost there and counted. The writer stores it.
	 */
	trail_u64 source_undecided;
	trail_u64 pad0[2];
	/* Losses; any thread may add to them atomically. */
	trail_u64 lost;
	/*
	 * Rings that the daemon fills from other buffers (kernel events). source_lost: the losses
	 * in those buffers that were counted here; source_discarded of them were not recorded
	 * there, the others were overwritten there. Of those overwritten since the last clear:
	 * source_overwritten is the number from before the oldest event in this ring, source_gaps
	 * the number between its events, which `lost` includes.
	 */
	trail_u64 source_lost;
	trail_u64 source_overwritten;
	trail_u64 source_discarded;
	trail_u64 source_gaps;
	/* Losses in the source since the last clear that a filter might have rejected. */
	trail_u64 source_unfiltered;
	/*
	 * In ring 0 of a region with TRAIL_REGION_WAKE (app.h), the bell of the region: a futex.
	 * TRAIL_BELL_ARMED: the daemon sleeps. A writer that finds it so after a commit stores 0
	 * and wakes the daemon.
	 */
	uint32_t bell, pad1;
	/*
	 * While the daemon frees memory: the number of the first sub-buffer that no writer may open
	 * (its memory is being freed), in both modes. 0: none. Pairs with ring_limit().
	 */
	trail_u64 fence;
	/* The reader's cache line. */
	/* Position: the writer may overwrite what is below (cleared, or written to files). */
	trail_u64 consumed;
	trail_u64 cleared_events;        /* events and losses at the last clear */
	trail_u64 cleared_lost;
	trail_u64 cleared_ts;
	trail_u64 cleared;               /* position of the last clear; views begin here */
	/* events overwritten before they were written to files, or the relay had them */
	trail_u64 unwritten;
	trail_u64 consumed_events;       /* events committed below `consumed`; for the daemon */
	/* Position: sub-buffers below may have lost their memory, and views show none of them. */
	trail_u64 reclaimed;
	struct trail_subbuf side[];     /* 2 * subbuf_count */
};

/*
 * The number of commits while head is at pos (guarantee G5). During that time tally changes from
 * {pos, n} at most once and never back. pairs: the region is TRAIL_REGION_PAIRS, whatever this
 * processor can store.
 */
static inline uint64_t trail_commits(const struct trail_ring *ring, uint64_t pos, bool pairs)
{
	uint64_t n;

#ifdef TRAIL_STORES_WORDS
	if (!pairs) {
		uint64_t word = __atomic_load_n(&ring->tally.head, __ATOMIC_ACQUIRE);

		n = __atomic_load_n(&ring->tally.commits, __ATOMIC_ACQUIRE);
		n += (uint64_t)(int32_t)((uint32_t)word - (uint32_t)n);
		if ((uint32_t)(word >> 32) == (uint32_t)pos)
			return n;
		return n ? n - 1 : 0;
	}
#endif
	(void)pairs;
	/* Acquire: the count is read between two reads of the position that it belongs to. */
	if (__atomic_load_n(&ring->tally.head, __ATOMIC_ACQUIRE) == pos) {
		n = __atomic_load_n(&ring->tally.commits, __ATOMIC_ACQUIRE);
		if (__atomic_load_n(&ring->tally.head, __ATOMIC_RELAXED) == pos)
			return n;
	}
	n = __atomic_load_n(&ring->tally.commits, __ATOMIC_RELAXED);
	return n ? n - 1 : 0;
}

#define TRAIL_HEAD_MASK ((1ull << 48) - 1)
#define TRAIL_HEAD_GENERATION (1ull << 48)

_Static_assert(sizeof(struct trail_counter) == 32, "none lies in two cache lines");
_Static_assert(sizeof(struct trail_subbuf) == 64, "side entries are cache lines");
_Static_assert(__builtin_offsetof(struct trail_ring, tally) == 16,
	       "tally is stored with one 16-byte store");
_Static_assert(__builtin_offsetof(struct trail_ring, side) == 192, "control lines");

#endif
