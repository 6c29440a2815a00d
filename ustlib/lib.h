/* SPDX-License-Identifier: MIT */
/*
 * What the files of the library share. Everything that may run in a signal handler (record.c, section.h, attach.c) uses
 * only system calls and memory from mmap(2): no malloc, no stdio, no lock that is waited for.
 */
#ifndef USTLIB_LIB_H
#define USTLIB_LIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/abi.h"
#include "tracer/ring.h"
#define TRAIL__LIBRARY
#include "trail/trail.h"

#define TRAIL_HIDDEN __attribute__((visibility("hidden")))
#define TRAIL_EXPORT __attribute__((visibility("default")))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define LANES 2

/* A region that is mapped. Never unmapped while a slot that a thread may hold names it (attach.c says when it is). */
struct mapping {
	uint64_t key, size;
	uint8_t *base;
	const struct trail_region *region;
	struct mapping *next;
	bool wanted;                    /* by the newest plan of some lane */
	/* The geometry, checked against size when it was mapped: the header page is shared and could change. */
	uint64_t subbuf_size, data_offset, ring_stride, ring_offset, switch_offset, switch_count;
	uint32_t subbuf_count, ring_count, mode, kind, populate;
	uint64_t clock_mult, clock_base;
	uint8_t *present;               /* a bit per sub-buffer of each ring: this process has populated it */
};

/* Where one event goes. The first line is what the fast path reads (offsets are known to section.h). */
struct slot {
	uint8_t *rings;                 /*  0: ring 0's control block */
	const uint8_t *on;              /*  8: the event's switch byte */
	uint64_t ring_stride;           /* 16 */
	uint64_t subbuf_mask;           /* 24: subbuf_size - 1 */
	uint64_t data_mask;             /* 32: subbuf_count * subbuf_size - 1 */
	uint64_t limit;                 /* 40: subbuf_size less the room that an event needs besides its payload */
	uint64_t clock_mult, clock_base;        /* 48, 56 */
	uint32_t ring_count;            /* 64: 0 keeps the fast path away */
	uint32_t id;                    /* 68 */
	uint64_t data_offset;           /* 72 */
	struct mapping *mapping;
	uint32_t lane;
};

struct slots {                          /* of one event: one, or several if more than one channel records it */
	uint32_t count, capacity;
	struct slots *next;             /* in the list of those that are retired or free */
	struct slot slot[];
};

/* One loaded object that has trace points. */
struct object {
	struct trail__tp *const *begin, *const *end;
	uint8_t name[16];               /* of the registration file */
	uint8_t *map;                   /* the file */
	size_t size;
	uint32_t event_count;
	struct trail__tp **tps;         /* event_count, in the order of the file */
	struct object *next;
};

/* register.c: guarded by the registration lock, which only (un)register, fork and attach take. */
extern TRAIL_HIDDEN struct object *objects;
extern TRAIL_HIDDEN char runtime_dir[LANES][92];        /* where the lanes' daemons are */
bool TRAIL_HIDDEN objects_trylock(void);
void TRAIL_HIDDEN objects_unlock(void);
void TRAIL_HIDDEN *arena_alloc(size_t size);            /* zeroed, never freed; NULL when memory ran out */

/* names.c */
/* Name of element i of the list of arguments as spelled (0 is the event's). Returns its length, cut to size - 1. */
size_t TRAIL_HIDDEN spelled_name(const char *args, unsigned int i, char *out, size_t size);

/* thread.c */
struct rseq_area {                      /* linux/rseq.h, the part that is used */
	uint32_t cpu_id_start;
	uint32_t cpu_id;
	uint64_t rseq_cs;
	uint32_t flags;
	uint32_t pad[3];
} __attribute__((aligned(32)));
extern TRAIL_HIDDEN ptrdiff_t rseq_offset;      /* of this thread's area from the thread pointer */
extern TRAIL_HIDDEN bool rseq_usable;           /* false: rings for threads */
void TRAIL_HIDDEN thread_init(void);            /* from the constructor */
bool TRAIL_HIDDEN thread_rseq(void);            /* makes sure that this thread is registered */
void TRAIL_HIDDEN thread_write(struct slot *slot, const void *data, size_t len);       /* thread rings */
void TRAIL_HIDDEN thread_forked(void);

static inline struct rseq_area *rseq_self(void)
{
	return (struct rseq_area *)((char *)__builtin_thread_pointer() + rseq_offset);
}

/* attach.c */
/* Called when the state word is not the one that tp was set up for. True: go on with tp's slots. */
bool TRAIL_HIDDEN attach(struct trail__tp *tp);
void TRAIL_HIDDEN attach_last(struct object *o);        /* the object goes: accounts for what it missed */
void TRAIL_HIDDEN attach_forked(void);
extern TRAIL_HIDDEN int attach_ms;               /* how long a hit may wait for the daemon: TRAIL_ATTACH_TIMEOUT */
extern TRAIL_HIDDEN bool attach_failed;                 /* the last attempt of some lane failed: hits are counted as missed */
/* Threads that hold a slot pointer outside a restartable section. Reclaiming waits for 0. */
extern TRAIL_HIDDEN uint32_t slot_users;

/* All slots of a trace point, or NULL. For holders of the registration lock and of slot_users. */
static inline struct slots *slots_of(const struct trail__tp *tp)
{
	const void *slot = __atomic_load_n(&tp->slot, __ATOMIC_SEQ_CST);

	if (slot)
		return (struct slots *)((char *)slot - offsetof(struct slots, slot));
	return (struct slots *)__atomic_load_n(&tp->slots, __ATOMIC_SEQ_CST);
}

/* record.c */
uint64_t TRAIL_HIDDEN slot_clock(uint64_t mult, uint64_t base);
void TRAIL_HIDDEN tp_missed(struct trail__tp *tp);
bool TRAIL_HIDDEN slot_populate(const struct mapping *m, uint32_t ring, uint64_t subbuf);
void TRAIL_HIDDEN slot_lost(const struct slot *slot, uint64_t n);

#endif
