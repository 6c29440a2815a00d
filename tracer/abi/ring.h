/* SPDX-License-Identifier: MIT */
/*
 * The ring protocol: the one description that the library, the daemon and the kernel module share. No dependency.
 *
 * A region is one memfd: a header page, the switch bytes, then ring_count rings. There is one region per channel and
 * owner (user or process), and one ring in it per possible CPU (or per thread, for processes without rseq).
 *
 * Words used below. The head is a byte position that only grows; its place in the data area is head % (count * size). A
 * sub-buffer is the size-aligned run of positions [k * size, (k + 1) * size), number k. The writer is a thread inside one
 * restartable section on the ring's CPU; the reader is the daemon.
 *
 * A ring begins with head 0, which is no place for events: the first switch opens sub-buffer 1. So head / size is the
 * number of switches so far. A switch is a commit of its own ({head, last_ts} = {start of the next sub-buffer, now}): nothing
 * is stored into a sub-buffer before head is in it.
 *
 * Guarantees
 *   G1  Everything below head is final, and head is always an event boundary. Nothing is ever reserved and left.
 *   G2  A section stores payload only above head, in the sub-buffer that head is in (and at most TRAIL_SLACK bytes more than
 *       the event, in the same sub-buffer); an abort leaves garbage there that the next section overwrites.
 *   G3  Times never go back in a ring, and time of the last event <= last_ts <= time of the next event while head stands
 *       still. An aborted section may have stored last_ts, but only within the same 2^27 ns epoch: the fast path takes the
 *       compact header only if `ts >> 27` equals that of last_ts, all else commits {head, last_ts} with one store.
 *       A section whose time was read before it began commits only if last_ts is unchanged since.
 *   G4  The side entry of sub-buffer k has its end facts once head is beyond it, its begin facts once head is in it.
 *       The 2 * N entries keep those of a sub-buffer whole as long as its bytes can be read.
 *   G5  tally is {head after, commits after}, stored at once just before head; every commit (event or switch) adds one.
 *       While head stands still the number of commits is tally.commits if tally.head == head, else tally.commits - 1: only one
 *       uncommitted store can be in it, because every section starts from that same rule. Events = commits - head / size.
 *   G6  After a switch byte is cleared and a thread has run once on each CPU (thread rings: after the generation in head
 *       was changed), no event with that id is committed any more: sections test the byte, and running there aborts them.
 *
 * Memory order (x86: plain stores, TSO). Writer: payload, side entry, tally, last_ts, then head. Reader: head with acquire,
 * then the rest. `consumed` is stored with release by the reader and loaded with acquire before a sub-buffer is used
 * again. The reader in overwrite mode copies, issues an acquire fence, and loads head again: what head has come round to
 * is dropped.
 */
#ifndef TRACER_RING_H
#define TRACER_RING_H

#include <stdint.h>

#define TRAIL_REGION_MAGIC 0x4e474552u  /* "REGN" */
#define TRAIL_REGION_VERSION 2u
#define TRAIL_PAGE 4096u
#define TRAIL_SLACK 16u                 /* bytes above an event that a copy may spoil; kept free at a sub-buffer's end */
#define TRAIL_HEADER_COMPACT 4u         /* bytes of an event header */
#define TRAIL_HEADER_EXTENDED 13u
#define TRAIL_ID_EXTENDED 31u           /* compact id that says: 32-bit id and 64-bit time follow; ids from here on always */
#define TRAIL_EPOCH_SHIFT 27

#define TRAIL_SUBBUF_MIN 4096u
#define TRAIL_SUBBUF_MAX (1u << 30)
#define TRAIL_SUBBUF_COUNT_MAX 4096u

enum trail_mode { TRAIL_MODE_DISCARD = 0, TRAIL_MODE_OVERWRITE = 1 };
enum trail_ring_kind { TRAIL_RINGS_CPU = 0, TRAIL_RINGS_THREAD = 1 };

/* As it lies in shared memory, also for machines that would put it at any multiple of 4. */
typedef uint64_t trail_u64 __attribute__((aligned(8)));

/* Page 0 of a region. Constant after it was made. */
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
	trail_u64 key;                   /* as in the plan */
	trail_u64 clock_mult;            /* ns = (tsc * clock_mult >> 32) + clock_base; 0: CLOCK_MONOTONIC */
	trail_u64 clock_base;
	uint32_t populate;              /* 1: the writer populates sub-buffers (MADV_POPULATE_WRITE); 0: they are allocated */
	uint32_t reserved[5];
};

#define TRAIL_THREAD_RINGS 64u          /* rings in a region of kind TRAIL_RINGS_THREAD */

/* One entry per sub-buffer number modulo 2 * N, so that closing one never touches what can still be read. */
struct trail_subbuf {
	trail_u64 seq;                   /* sub-buffer number */
	trail_u64 begin_ts;              /* when it was begun: no event in it is earlier */
	trail_u64 begin_events;          /* events committed to the ring before it */
	trail_u64 begin_lost;            /* `lost` when it was begun */
	trail_u64 end;                   /* position after its last event */
	trail_u64 end_ts;                /* last_ts when it was closed */
	trail_u64 end_events;            /* events committed to the ring up to its end */
	trail_u64 end_lost;
};

struct trail_tally { trail_u64 head, commits; };

/* The control block of a ring. */
struct trail_ring {
	/* the writer's line */
	trail_u64 head;                  /* thread rings: generation << 48 | position, changed by cmpxchg */
	trail_u64 last_ts;               /* head and last_ts: 16-byte aligned, stored together on slow paths */
	struct trail_tally tally;       /* 16-byte aligned */
	trail_u64 pad0[4];
	/* what could not be recorded; added to atomically by anybody */
	trail_u64 lost;
	/*
	 * Rings that are filled from other buffers. source_lost: losses there that were counted here so far, of which source_discarded
	 * were not recorded there either; the rest was overwritten there. Of the latter since the last clear: source_overwritten while
	 * this ring held nothing older; source_gaps between events that it holds, so that they are in `lost`, too.
	 */
	trail_u64 source_lost;
	trail_u64 source_overwritten;
	trail_u64 source_discarded;
	trail_u64 source_gaps;
	/* Losses in the source since the last clear, some of which the channel's filters would have rejected. */
	trail_u64 source_unfiltered;
	trail_u64 pad1[2];
	/* the reader's line */
	trail_u64 consumed;              /* position: everything below may be overwritten: it was cleared, or written elsewhere */
	trail_u64 cleared_events;        /* count of events and of losses at the last clear */
	trail_u64 cleared_lost;
	trail_u64 cleared_ts;
	trail_u64 cleared;               /* position of the last clear: what is below is not shown any more */
	trail_u64 unwritten;             /* events overwritten before they were written to the output */
	trail_u64 pad2[2];
	struct trail_subbuf side[];     /* 2 * subbuf_count */
};

#define TRAIL_HEAD_MASK ((1ull << 48) - 1)
#define TRAIL_HEAD_GENERATION (1ull << 48)

_Static_assert(sizeof(struct trail_subbuf) == 64, "side entries are cache lines");
_Static_assert(__builtin_offsetof(struct trail_ring, tally) == 16, "tally is stored with one 16-byte store");
_Static_assert(__builtin_offsetof(struct trail_ring, side) == 192, "control lines");

#endif
