/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rings of trail.ko, as the module writes them (kmod/ringcore.h) and the daemon reads them (backend/module_channel.c): one per possible CPU.
 * A ring is a control page and then its data area, mapped read-only: nothing the daemon does to its own memory can mislead the kernel.
 *
 * It keeps the promises of ring.h: all below head is final, head is an event boundary, a reader takes what is there and asks nothing. But
 * in the kernel a writer that is interrupted cannot be sent back to its beginning as a restartable section is: it goes on with its
 * stores after whatever interrupted it has recorded. If both stored above head and the commit decided, the late stores would spoil an event that
 * was committed meanwhile. So here the compare-and-exchange claims the place, before the stores, and head follows when the outermost
 * writer of the CPU has finished. Kernel code always finishes, so nothing that is claimed is ever left.
 *
 * Positions only grow; place of a position: position % (count * size). A sub-buffer begins with a record of kind KREC_BEGIN, which says
 * how many events were recorded before it; an event that does not fit into what is left of it goes to the next one, and what
 * is left is a KREC_PAD, if a header fits in at all. Everything is aligned to 8 bytes.
 */
#ifndef TRACER_MODRING_H
#define TRACER_MODRING_H

#include <linux/types.h>

#define KRING_PAGE 4096u                /* the control page */
#define KRING_SUBBUF_MIN 4096u
#define KRING_SUBBUF_MAX (4u << 20)
#define KRING_SUBBUF_COUNT_MAX 65536u

/* reserve: position / 8 in its lower 48 bits, the number of events claimed (modulo 2^16) above. */
#define KRING_POSITION_MASK ((1ull << 48) - 1)
#define KRING_EVENTS_SHIFT 48

struct kring {
	/* the writer's */
	__u64 reserve;                  /* where the next event goes: changed by compare-and-exchange of this CPU only */
	__u64 head;                     /* position: all below is final. The daemon loads it with acquire */
	__u64 events;                   /* near the number of events claimed: kring_events */
	__u64 last_ts;                  /* no event that is to come is earlier, if the clock needs that */
	__u64 lost;                     /* events that found no room */
	__u32 nest, pad0;               /* writers that are under way on this CPU */
	__u64 pad1[2];
	/* the reader's, as it told the kernel (MODABI_CONSUME) */
	__u64 consumed;                 /* position: below may be overwritten */
	__u64 consumed_events;          /* events below it */
	__u64 overwritten;              /* of these, never seen */
};

/* KREC_CONTEXTS: an event that has a __u32 in front, the number of bytes of contexts that come next; what aligns the event to 8 bytes follows. */
enum krec_kind { KREC_EVENT = 1, KREC_BEGIN = 2, KREC_PAD = 3, KREC_CONTEXTS = 4 };

struct krec {                           /* before each record */
	__u64 ts;
	__u32 len;                      /* bytes that follow, without what aligns the next */
	__u32 kind;
};

/* All of a KREC_BEGIN. */
struct krec_begin {
	struct krec rec;
	__u64 events;
};

/* The number of events claimed when `reserve` was `word`: `hint` is less than 2^15 away from it. */
static inline __u64 kring_events(__u64 hint, __u64 word)
{
	return hint + (__u64)(__s64)(__s16)(__u16)((word >> KRING_EVENTS_SHIFT) - hint);
}

static inline __u64 kring_position(__u64 word)
{
	return word << (64 - KRING_EVENTS_SHIFT) >> (64 - KRING_EVENTS_SHIFT - 3);
}

#endif
