/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rings of trail.ko, one per possible CPU. The module writes them (kmod/ringcore.h), the daemon
 * reads them (backend/module_channel.c). A ring is a control page and its data area, mapped
 * read-only, so that the daemon cannot modify what the kernel relies on.
 *
 * It gives the guarantees of ring.h: all bytes below head are final, head is an event boundary, and
 * a reader takes what is below head without asking the writer. In the kernel, however, an
 * interrupted writer cannot be restarted as a restartable section is: it continues its stores after
 * the interrupting writer has recorded its event. If both stored above head and the commit decided
 * which event counts, the late stores would overwrite a committed event. Therefore a writer first
 * reserves its place by compare-and-exchange of `reserve`, then stores, and head follows when the
 * outermost writer of the CPU has finished. Kernel code always finishes, so no reservation stays
 * uncommitted.
 *
 * Positions only grow; the place of a position is position % (count * size). A sub-buffer begins
 * with a record of kind KREC_BEGIN, which has the number of events recorded before it. An event
 * that does not fit into the rest of a sub-buffer goes to the next one; the rest becomes a
 * KREC_PAD, if a header fits. All records are aligned to 8 bytes.
 */
#ifndef TRACER_ABI_MODULE_RING_H
#define TRACER_ABI_MODULE_RING_H

#include <linux/types.h>

#define KRING_PAGE 4096u                /* the control page */
#define KRING_SUBBUF_MIN 4096u
#define KRING_SUBBUF_MAX (4u << 20)
#define KRING_SUBBUF_COUNT_MAX 65536u

/* reserve: position / 8 in the lower 48 bits, the number of events reserved (modulo 2^16) above. */
#define KRING_POSITION_MASK ((1ull << 48) - 1)
#define KRING_EVENTS_SHIFT 48

struct kring {
	/* Written by the module. */
	__u64 reserve;                  /* place of the next event; only this CPU changes it */
	/* position: all below is final; the daemon loads it with acquire */
	__u64 head;
	__u64 events;                   /* near the number of events reserved: see kring_events */
	__u64 last_ts;                  /* no later event is earlier, if the clock needs that */
	__u64 lost;                     /* events discarded because the ring was full */
	__u32 nest, pad0;               /* nest: writers active on this CPU */
	__u64 pad1[2];
	/* Written by the module as the daemon asks (MODABI_CONSUME). */
	__u64 consumed;                 /* position: the module may overwrite what is below */
	__u64 consumed_events;          /* events below it */
	__u64 overwritten;              /* of these, overwritten before the daemon read them */
};

/*
 * KREC_CONTEXTS is an event that begins with a __u32, the number of bytes of its contexts; the
 * contexts follow, then padding to 8 bytes, then the event.
 */
enum krec_kind {
	KREC_EVENT = 1, KREC_BEGIN = 2, KREC_PAD = 3, KREC_CONTEXTS = 4,
	/* No event: what the record of an event before it lacks. Only BPF programs write it. */
	KREC_LATE = 5,
};

struct krec {                           /* before each record */
	__u64 ts;
	/* bytes that follow, without the padding before the next record */
	__u32 len;
	__u32 kind;
};

/* A KREC_BEGIN. */
struct krec_begin {
	struct krec rec;
	__u64 events;
};

/* The number of events reserved, from `reserve` and a hint that is less than 2^15 away from it. */
static inline __u64 kring_events(__u64 hint, __u64 word)
{
	return hint + (__u64)(__s64)(__s16)(__u16)((word >> KRING_EVENTS_SHIFT) - hint);
}

static inline __u64 kring_position(__u64 word)
{
	return word << (64 - KRING_EVENTS_SHIFT) >> (64 - KRING_EVENTS_SHIFT - 3);
}

#endif
