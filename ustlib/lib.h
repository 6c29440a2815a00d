/* SPDX-License-Identifier: MIT */
/*
 * ustlib/: libtrail, the library in applications.
 *
 *	record.c, section*.h    the event path, and its restartable sections
 *	slow_path.c, slot.c     events that do not fit the sub-buffer; a slot's clock and losses
 *	thread_ring.c           rings for threads, without rseq
 *	pieces.c, values.c      events that do not fit the call site's stack buffer
 *	context/                contexts (context/context.h)
 *	register.c, fields.c    loaded objects and their registration files
 *	description.c, mapping.c, words.c       what a registration file says; its map; state words
 *	attach.c, exchange.c    questions to the daemon (exchange.h), and what its answers change
 *	slots.c                 slots and mapped regions
 *	plugin.c                clock plug-ins (plugin.h); the archive has none
 *	site.c                  LTTng's call sites, connected to probes by name
 *	base/                   the environment, the registration lock, threads (base/base.h)
 *	front/                  other definitions of tracepoints: log.c, formats; event.c, events
 *				that are defined while the program runs
 *	statedump.c             state dumps
 *	interpose.c, seal.c     functions of libc that change what is cached; trail_seal()
 *
 * Lock: the registration lock (base/lock.c) guards the lists of objects, slots and mappings. Code
 * that may run in a signal handler (record.c, section.h, slot.c, slow_path.c, thread_ring.c,
 * attach.c) uses only system calls and memory from mmap(2): no malloc, no stdio, no lock that is
 * waited for without a limit.
 */
#ifndef USTLIB_LIB_H
#define USTLIB_LIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tracer/abi/app.h"
#include "tracer/abi/ring.h"
#include "ustlib/base/base.h"
#include "ustlib/context/context.h"
#include "ustlib/quick.h"

/*
 * A region that is mapped. Never unmapped while a slot that a thread may hold names it (slots.c
 * says when it is).
 */
struct mapped_region {
	uint64_t key, size;
	uint8_t *base;
	size_t mapped;                  /* bytes from base on: size, unless counts_only */
	bool counts_only;       /* no room for more than the control block of ring 0, for `lost` */
	uint32_t *bell;                 /* in ring 0 */
	struct mapped_region *next;
	uint32_t users;                 /* slots that are not retired */
	/*
	 * The geometry, checked against size when it was mapped: the header page is shared and
	 * could change.
	 */
	uint64_t subbuf_size, data_offset, ring_stride, ring_offset, switch_offset, switch_count;
	uint32_t subbuf_count, ring_count, mode, kind, populate;
	bool pairs;                     /* TRAIL_REGION_PAIRS */
	uint32_t reclaims;              /* as in the header when `present` was last right; atomic */
	uint64_t clock_mult, clock_base;
	trail_u64 blocking;             /* us that a hit may wait for room; set by each plan */
	/* a bit per sub-buffer of each ring: this process has populated it */
	uint8_t *present;
};

/*
 * QUICK: the filter begins with a test of `quick`, and what fails it is rejected. DECIDED: that
 * test is the whole filter, and there are no contexts. WAKE: the region has a bell
 * (tracer/abi/ring.h). PICK: parts of the payload are recorded (tracer/abi/pick.h). COUNT: hits are
 * counted, and none is recorded (TRAIL_MODE_COUNT); EXTRA is then a filter. Slots with WAKE or PICK
 * have `extra`. Slots with one of these three have no other of them, and are never DECIDED.
 */
enum {
	SLOT_EXTRA = 1, SLOT_RETIRED = 2, SLOT_QUICK = 4, SLOT_DECIDED = 8, SLOT_WAKE = 16,
	SLOT_PICK = 32, SLOT_COUNT = 64,
};

/*
 * Where one event goes. The first line is what the fast path reads (offsets are known to
 * section.h). Slots lie in memory that is only ever used for slots: a thread that holds a pointer
 * may read, and what it read holds if seq is still the same in the section.
 */
struct slot {
	uint8_t *rings;                 /*  0: ring 0's control block */
	const uint8_t *on;              /*  8: the event's switch byte */
	uint64_t ring_stride;           /* 16 */
	uint64_t subbuf_mask;           /* 24: subbuf_size - 1 */
	uint64_t data_mask;             /* 32: subbuf_count * subbuf_size - 1 */
	/* 40: subbuf_size less the room that an event needs besides its payload */
	uint64_t limit;
	uint64_t clock_mult, clock_base;        /* 48, 56 */
	uint32_t ring_count;            /* 64: 0 keeps the fast path away */
	uint32_t id;                    /* 68 */
	uint64_t data_offset;           /* 72; SLOT_COUNT: of the event's counter in a ring */
	/* 80: another number whenever the slot was filled or retired */
	trail_u64 seq;
	uint8_t on_value;               /* 88: what *on is while the slot is good */
	uint8_t lane;
	bool own;                       /* of this process alone */
	uint8_t flags;                  /* SLOT_*; stored before seq, loaded after it */
	uint32_t header_size;           /* 92: bytes, of a header with 27 bits of the time */
	uint64_t header_ids;            /* 96: such a header of time 0, as a little-endian number */
	struct mapped_region *mapping;
	struct slot_extra *extra;            /* SLOT_EXTRA */
	uint64_t key;                   /* of the mapping */
	/* as ring_count, if the time is the kernel's clock instead of the TSC; else 0 */
	uint32_t timed_count;
	struct quick quick;             /* SLOT_QUICK */
};

/* of one event: one, or several if more than one channel records it */
struct slots {
	uint32_t count, capacity;
	struct slots *next;             /* in the list of those that are retired or free */
	struct slot slot[];
};

/* One loaded object that has trace points. */
struct object {
	struct trail__tp *const *begin, *const *end;
	uint8_t name[16];               /* of the registration file */
	uint8_t *map;                   /* the file */
	struct file_lock lock;          /* of the file */
	size_t size;
	uint32_t event_count, capacity;
	struct trail__tp **tps;         /* event_count of capacity, in the order of the file */
	/* attach.c: a bit for each tracepoint that has slots of the lane; of `capacity` bits */
	uint64_t *placed[LANES];
	uint8_t *asked;         /* words.c: words before a question, of `capacity` bytes */
	/* a bit for each lane: words may be TRAIL_WORD_ASKING or _UNKNOWN */
	uint8_t unknown;
	/* others may read its words when it is gone: zeros take its place */
	bool keep_map;
	struct object *next;
};

/* fields.c */
/*
 * Name of element i of the list of arguments as spelled (0 is the event's). Returns its length, cut
 * to size - 1.
 */
size_t TRAIL_HIDDEN spelled_name(const char *args, unsigned int i, char *out, size_t size);
/* There is nothing but the event's name, which may then have any characters but these. */
bool TRAIL_HIDDEN spelled_alone(const char *args);

/*
 * fields.c: the fields as the registration file has them, one after the other: a structure, then
 * its members. Returns how many; calls fn for each of them unless it is null. A name that only the
 * event's arguments have is looked for if `named`; else it is NULL.
 */
typedef void field_fn(void *arg, const struct trail__field *f, const char *name);
uint32_t TRAIL_HIDDEN each_field(const struct trail__event *e, bool named, field_fn *fn,
				 void *arg);

/* mapping.c: all with the registration lock held */
/* The descriptor is a memfd of at least `size` bytes with these seals. */
bool TRAIL_HIDDEN memfd_is_sealed(int fd, uint64_t size, int seals);
/*
 * NULL: not to be had. fd: a sealed memfd, or a file that only this user and root may open, which
 * the daemon makes for programs of its own user (`-o rings=`). *error: 0, or the errno because of
 * which no event can be recorded in the region; a mapping is then counts_only.
 */
struct mapped_region TRAIL_HIDDEN *mapping_get(const struct trail_plan_region *r, int fd,
					       int *error);
/*
 * Makes a sub-buffer present before its first use. False: there is no memory for it. Without the
 * lock; async-signal-safe.
 */
bool TRAIL_HIDDEN mapping_populate(struct mapped_region *m, uint32_t ring, uint64_t subbuf);
/* All sub-buffers of all mappings, for a thread that cannot ask for memory later. */
bool TRAIL_HIDDEN mappings_populate(void);
bool TRAIL_HIDDEN mappings_unused(void);        /* some mapping has no slot */
void TRAIL_HIDDEN mappings_unmap_unused(void);  /* no thread may be at a slot that was retired */

/* slots.c: all with the registration lock held */
/*
 * from[n] are what the plan says of this trace point in this lane; the slots of the other lane
 * stay.
 */
struct taken_plan;
void TRAIL_HIDDEN slots_set(struct trail__tp *tp, unsigned int lane, const struct taken_plan *p,
			    const struct trail_plan_slot *from, uint32_t n);
void TRAIL_HIDDEN slots_drop(struct trail__tp *tp);
void TRAIL_HIDDEN slots_drop_stale(struct trail__tp *tp);
void TRAIL_HIDDEN slots_reclaim(void);

/* exchange.c: without the lock; exchange.h has the rest */
bool TRAIL_HIDDEN daemon_lives(unsigned int lane);
/* The owner of a file is root, or the host's root that this user namespace has no number for. */
bool TRAIL_HIDDEN is_of_root(uid_t uid);
bool TRAIL_HIDDEN lane_is_hidden(unsigned int lane);            /* by chroot(2) */

/* description.c: with the registration lock held */
/* False: ignore it. One that is refused is known: LTTNG_UST_DEBUG says so. */
bool TRAIL_HIDDEN event_is_known(const struct trail__event *e);
/* The object's registration file, a mapping that the caller unmaps; NULL: no memory. */
struct trail_reg TRAIL_HIDDEN *describe_object(const struct object *o, const char *path,
					       size_t *mapped);

/* words.c: with the registration lock held */
/* In the words of a new file: the object will ask the lanes of this mask. */
void TRAIL_HIDDEN words_fill(uint32_t *words, uint32_t count, unsigned int lanes);
void TRAIL_HIDDEN words_set_unknown(struct object *o, unsigned int lane);       /* no answer came */
/* Stores a word of an answer, unless the daemon has written another one meanwhile. */
void TRAIL_HIDDEN words_store(struct object *o, uint32_t event, unsigned int lane, uint8_t value);
/* the words that no answer named: 0 */
void TRAIL_HIDDEN words_resolve(struct object *o, unsigned int lane);

/* attach.c */
/*
 * Called when the state word is not the one that tp was set up for, or (again) when its slots
 * turned out to be stale. True: use tp's slots, if it has any. False: this hit could not
 * attach, and is not counted yet.
 */
bool TRAIL_HIDDEN attach(struct trail__tp *tp, bool again);
void TRAIL_HIDDEN attach_apply(const struct taken_plan *p, unsigned int lane);
/*
 * Attaches a new object to the daemons in `lanes`, which its words name already (words_fill), so
 * that no hit has to. Returns true if a state dump is due.
 */
bool TRAIL_HIDDEN attach_object(struct object *o, unsigned int lanes);
/*
 * The object goes: accounts for what it missed. False: a daemon that does not answer now has to do
 * it, by the registration file.
 */
bool TRAIL_HIDDEN attach_last(struct object *o);
/*
 * lanes: whose daemon knows processes apart, a bit for each; they are asked at once. True: a state
 * dump is due.
 */
bool TRAIL_HIDDEN attach_forked(unsigned int lanes);
/* all slots are dropped; each is asked for at the next hit */
void TRAIL_HIDDEN attach_anew(void);
/* with the lock held: asks now, also who did not answer before */
int TRAIL_HIDDEN attach_all(void);
void TRAIL_HIDDEN attach_drop_stale(struct trail__tp *tp);      /* takes the lock itself */
/* some lane's daemon did not answer: hits are counted as missed */
extern TRAIL_HIDDEN bool attach_failed;
extern TRAIL_HIDDEN bool missed_any;                    /* some hit was, since the last attach */
/* Threads that use a slot's mapping outside a restartable section. Reclaiming waits for 0. */
extern TRAIL_HIDDEN uint32_t slot_users;

/* All slots of a trace point, or NULL. For holders of the registration lock and of slot_users. */
static inline struct slots *slots_of(const struct trail__tp *tp)
{
	const void *slot = __atomic_load_n(&tp->slot, __ATOMIC_SEQ_CST);

	if (slot)
		return (struct slots *)((char *)slot - offsetof(struct slots, slot));
	return (struct slots *)__atomic_load_n(&tp->places, __ATOMIC_SEQ_CST);
}

/* interpose.c; the archive has none */
void TRAIL_HIDDEN interpose_init(void) __attribute__((weak));

/* register.c */
/* in a forked child, with the registration lock held; releases it */
void TRAIL_HIDDEN register_forked(void);
/*
 * As trail__identity_changed() (trail/site.h), with the lock held: it may be so without our having
 * seen the call.
 */
void TRAIL_HIDDEN register_identity_now(void);

/* pieces.c */
/* counts an event that could not be put together */
void TRAIL_HIDDEN record_lost(struct trail__tp *tp);

/* site.c */
void TRAIL_HIDDEN sites_forked(void);

/* record.c */
void TRAIL_HIDDEN tp_missed(struct trail__tp *tp);

/* thread_ring.c */
/* Thread rings. False: the event's switch byte says something else. */
bool TRAIL_HIDDEN thread_write(const struct slot *slot, const void *data, size_t len);
void TRAIL_HIDDEN thread_rings_forked(void);

/* slow_path.c */
/*
 * Aborts of one event before it counts as lost: the events of a single-stepped thread would never
 * end.
 */
#define TRIES 200
/*
 * Writes one event, or counts it as lost. False: the slot is stale. Caller holds slot_users. tries:
 * aborts so far.
 */
bool TRAIL_HIDDEN slow_write(const struct slot *slot, const void *data, size_t len, int tries);

/* slot.c: all async-signal-safe. slot_clock() may call a clock plug-in (plugin.h). */
uint64_t TRAIL_HIDDEN slot_clock(uint64_t mult, uint64_t base);
void TRAIL_HIDDEN slot_lost(const struct slot *slot, uint64_t n);
/* Counts hits of a slot with SLOT_COUNT outside a section. Its mapping is not counts_only. */
void TRAIL_HIDDEN slot_count(const struct slot *slot, uint64_t n);
/* One of them. False: the slot is stale. */
bool TRAIL_HIDDEN slot_count_hit(const struct slot *slot);
/* An event of a mapping that is counts_only. False: the slot is stale. */
bool TRAIL_HIDDEN slot_count_lost(const struct slot *slot);
/*
 * Waits a while for room in the slot's ring. False: there will be none. *began: when the wait
 * began; 0: not yet.
 */
bool TRAIL_HIDDEN slot_wait(const struct slot *slot, uint64_t *began);

#endif
