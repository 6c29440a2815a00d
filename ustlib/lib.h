/* SPDX-License-Identifier: MIT */
/*
 * ustlib/: libtrail, the library in applications.
 *
 *	record.c, section.h     the event path, and its restartable sections
 *	slow_path.c, slot.c     events that do not fit the sub-buffer; a slot's clock and memory
 *	pieces.c, values.c      events that do not fit the call site's stack buffer
 *	context/                contexts (context/context.h)
 *	register.c, fields.c    loaded objects and their registration files
 *	description.c, mapping.c, words.c       what a registration file says; its map; state words
 *	attach.c, exchange.c    questions to the daemon (exchange.h), and what its answers change
 *	slots.c                 slots and mapped regions
 *	plugin.c                clock plug-ins (plugin.h); the archive has none
 *	environment.c           variables of the environment; messages for LTTNG_UST_DEBUG
 *	lock.c, thread.c        the registration lock; rseq areas, and rings for threads
 *	front/                  other definitions of tracepoints: site.c, LTTng's call sites; log.c,
 *				formats; event.c, events that are defined while the program runs
 *	statedump.c             state dumps
 *	interpose.c, seal.c     functions of libc that change what is cached; trail_seal()
 *
 * Lock: the registration lock (lock.c) guards the lists of objects, slots and mappings. Code that
 * may run in a signal handler (record.c, section.h, slot.c, slow_path.c, attach.c) uses only system
 * calls and memory from mmap(2): no malloc, no stdio, no lock that is waited for without a limit.
 */
#ifndef USTLIB_LIB_H
#define USTLIB_LIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/abi/app.h"
#include "tracer/abi/ring.h"
#include "ustlib/quick.h"
#define TRAIL__LIBRARY
#include "trail/trail.h"

#define TRAIL_HIDDEN __attribute__((visibility("hidden")))
#define TRAIL_EXPORT __attribute__((visibility("default")))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define LANES 2

/*
 * A region that is mapped. Never unmapped while a slot that a thread may hold names it (slots.c
 * says when it is).
 */
struct mapping {
	uint64_t key, size;
	uint8_t *base;
	size_t mapped;                  /* bytes from base on: size, unless counts_only */
	bool counts_only;       /* no room for more than the control block of ring 0, for `lost` */
	uint32_t *bell;                 /* in ring 0 */
	struct mapping *next;
	uint32_t users;                 /* slots that are not retired */
	/*
	 * The geometry, checked against size when it was mapped: the header page is shared and
	 * could change.
	 */
	uint64_t subbuf_size, data_offset, ring_stride, ring_offset, switch_offset, switch_count;
	uint32_t subbuf_count, ring_count, mode, kind, populate;
	uint64_t clock_mult, clock_base;
	trail_u64 blocking;             /* us that a hit may wait for room; set by each plan */
	/* a bit per sub-buffer of each ring: this process has populated it */
	uint8_t *present;
};

/*
 * What a slot needs besides: contexts and a filter. Lies in memory that is only ever used for this
 * again, with the same capacity; a reader may see it change under it, so it checks each number that
 * it uses, and the slot's seq afterwards.
 */
struct extra_context {
	uint32_t kind;                  /* enum trail_context */
	uint32_t index;                 /* APP: of the name (app_context_index); PERF: type */
	uint64_t config;                /* PERF */
};

struct extra {
	uint32_t capacity;              /* bytes after this header; constant */
	uint32_t context_count;
	uint32_t context_size;          /* bytes in an event; UINT32_MAX if that differs */
	uint32_t program_size;          /* 0: no filter */
	uint32_t pick_count;
	/* not 0: the contexts stay the same for a thread until context_changed(); unique */
	trail_u64 steady;
	struct extra *next;             /* in the list of free ones */
	/* struct extra_context[context_count], the program, struct trail_pick_step[pick_count] */
	uint64_t data[];
};

/*
 * QUICK: the filter begins with a test of `quick`, and what fails it is rejected. DECIDED: that
 * test is the whole filter, and there are no contexts. WAKE: the region has a bell
 * (tracer/abi/ring.h). PICK: parts of the payload are recorded (tracer/abi/pick.h). Slots with WAKE
 * or PICK have `extra` and are never DECIDED; none has both.
 */
enum {
	SLOT_EXTRA = 1, SLOT_RETIRED = 2, SLOT_QUICK = 4, SLOT_DECIDED = 8, SLOT_WAKE = 16,
	SLOT_PICK = 32,
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
	uint64_t data_offset;           /* 72 */
	/* 80: another number whenever the slot was filled or retired */
	trail_u64 seq;
	uint8_t on_value;               /* 88: what *on is while the slot is good */
	uint8_t lane;
	bool own;                       /* of this process alone */
	uint8_t flags;                  /* SLOT_*; stored before seq, loaded after it */
	uint32_t header_size;           /* 92: bytes, of a header with 27 bits of the time */
	uint64_t header_ids;            /* 96: such a header of time 0, as a little-endian number */
	struct mapping *mapping;
	struct extra *extra;            /* SLOT_EXTRA */
	uint64_t key;                   /* of the mapping */
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

/*
 * lock.c: the registration lock, which only (un)register, fork and attach take. Holders keep it for
 * 250 ms at most.
 */
bool TRAIL_HIDDEN objects_trylock(void);
void TRAIL_HIDDEN objects_unlock(void);
/* only for constructors, destructors and fork; may be nested; sleeps, never spins */
void TRAIL_HIDDEN objects_lock(void);
/*
 * Sleeps until the lock may be free, or a moment (now_us) has come. False: it is not free, or this
 * thread must not sleep: it holds the lock itself, or trail_seal() was called. Async-signal-safe.
 */
bool TRAIL_HIDDEN objects_wait(int64_t until);
/* a full wait was in vain: objects_wait() fails till it is free */
void TRAIL_HIDDEN objects_stuck(void);
/* waits for the threads that were about to sleep when attach_sealed was set */
void TRAIL_HIDDEN objects_waiters_gone(void);
/* in a child: the other threads are not here */
void TRAIL_HIDDEN objects_forked(void);
int64_t TRAIL_HIDDEN now_us(void);                      /* CLOCK_MONOTONIC */

/* environment.c */
/* Sets runtime_dir, for the effective user. */
void TRAIL_HIDDEN environment_set_dirs(void);
void TRAIL_HIDDEN environment_read(void);       /* after that */
/* A line to standard error if LTTNG_UST_DEBUG is set. Keeps errno. */
void TRAIL_HIDDEN debug_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* register.c: guarded by the registration lock */
extern TRAIL_HIDDEN struct object *objects;
extern TRAIL_HIDDEN char runtime_dir[LANES][92];        /* where the lanes' daemons are */
/* zeroed, never freed; NULL when memory ran out */
void TRAIL_HIDDEN *arena_alloc(size_t size);

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

/* thread.c */
struct rseq_area {                      /* linux/rseq.h, the part that is used */
	uint32_t cpu_id_start;
	uint32_t cpu_id;
	uint64_t rseq_cs;
	uint32_t flags;
	uint32_t pad[3];
} __attribute__((aligned(32)));
/*
 * This thread may be two: a child of vfork(2) or clone(2) has its parent's thread pointer and with
 * it all thread-local storage. `shift` then leads to an area that has no CPU, and `owner` is the
 * thread that may write.
 */
struct thread_state {
	ptrdiff_t shift;                /* of rseq_self() from the area that the kernel knows */
	uint32_t owner;                 /* 0: this thread is one */
	/* by other means than fork(3): to be made good at the next hit */
	bool forked;
	bool holds;                     /* the registration lock */
	bool private_files;             /* a table of descriptors of its own */
	struct {
		/* reading it would be SIGSEGV: `shift` keeps the fast path away */
		bool without_tsc;
		uint64_t tsc;           /* when it was last read, */
		uint64_t then;          /* and CLOCK_MONOTONIC at that time, ns */
	} clock;
};
extern TRAIL_HIDDEN __thread struct thread_state thread_state
	__attribute__((tls_model("initial-exec")));
extern TRAIL_HIDDEN ptrdiff_t rseq_offset;      /* of this thread's area from the thread pointer */
extern TRAIL_HIDDEN bool rseq_usable;           /* false: rings for threads */
void TRAIL_HIDDEN thread_init(void);            /* from the constructor */
bool TRAIL_HIDDEN thread_rseq(void);            /* makes sure that this thread is registered */
/* Thread rings. False: the event's switch byte says something else. */
bool TRAIL_HIDDEN thread_write(const struct slot *slot, const void *data, size_t len);
void TRAIL_HIDDEN thread_forked(void);
/* a child on the same thread pointer is about to be made */
void TRAIL_HIDDEN thread_share(void);
void TRAIL_HIDDEN thread_unshare(void);         /* and is gone, or was not made */
void TRAIL_HIDDEN thread_mark_forked(void);
/* before the calling thread gives up the right to read the TSC */
void TRAIL_HIDDEN thread_lose_tsc(void);
void TRAIL_HIDDEN thread_regain_tsc(void);
/*
 * For a thread without TSC: ns since *tsc was read. Async-signal-safe; no system call after
 * trail_seal().
 */
uint64_t TRAIL_HIDDEN thread_clock(uint64_t *tsc);
struct timespec;
void TRAIL_HIDDEN thread_now(struct timespec *ts);      /* CLOCK_MONOTONIC, for any thread */
bool TRAIL_HIDDEN thread_is_foreign(void);      /* such a child: writes nothing */

static inline struct rseq_area *rseq_real(void)
{
	return (struct rseq_area *)((char *)__builtin_thread_pointer() + rseq_offset);
}

static inline struct rseq_area *rseq_self(void)
{
	return (struct rseq_area *)((char *)__builtin_thread_pointer() + rseq_offset +
				    thread_state.shift);
}

/* mapping.c: all with the registration lock held */
/* The descriptor is a memfd of at least `size` bytes with these seals. */
bool TRAIL_HIDDEN memfd_is_sealed(int fd, uint64_t size, int seals);
/*
 * NULL: not to be had. *error: 0, or the errno because of which no event can be recorded in the
 * region; a mapping is then counts_only.
 */
struct mapping TRAIL_HIDDEN *mapping_get(const struct trail_plan_region *r, int fd, int *error);
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
bool TRAIL_HIDDEN lane_is_hidden(unsigned int lane);            /* by chroot(2) */
/*
 * Moves a descriptor that stays open to a high number: a program that closes 0, 1 and 2 relies on
 * the next open(2) to return 0. Returns the new number, never 0 to 2, or -1 if there is none; fd is
 * closed then. Async-signal-safe.
 */
int TRAIL_HIDDEN fd_move_up(int fd);

/* description.c: with the registration lock held */
/* False: ignore it. One that is refused is known: LTTNG_UST_DEBUG says so. */
bool TRAIL_HIDDEN event_is_known(const struct trail__event *e);
/* The object's registration file, a mapping that the caller unmaps; NULL: no memory. */
struct trail_reg TRAIL_HIDDEN *describe_object(const struct object *o, const char *path,
					       size_t *mapped);

/* words.c: with the registration lock held */
/* The first values of new words: the object will ask the lanes of this mask. */
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
bool TRAIL_HIDDEN attach_forked(void);                  /* True: a state dump is due */
/* all slots are dropped; each is asked for at the next hit */
void TRAIL_HIDDEN attach_anew(void);
/* with the lock held: asks now, also who did not answer before */
int TRAIL_HIDDEN attach_all(void);
void TRAIL_HIDDEN attach_drop_stale(struct trail__tp *tp);      /* takes the lock itself */
int64_t TRAIL_HIDDEN attach_total_us(void);
/* how long the daemon may be silent: TRAIL_ATTACH_TIMEOUT */
extern TRAIL_HIDDEN int attach_ms;
/* some lane's daemon did not answer: hits are counted as missed */
extern TRAIL_HIDDEN bool attach_failed;
extern TRAIL_HIDDEN bool attach_sealed;                 /* trail_seal(): no system calls any more */
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

/* context/ */
/*
 * The contexts of one channel as this thread had them last, so that an event costs one copy of
 * them.
 */
struct context_block {
	trail_u64 id;                   /* extra.steady; 0: none. Stored last */
	uint32_t generation;
	uint8_t bytes[TRAIL__HEADROOM]; /* the contexts are at the end */
};
extern TRAIL_HIDDEN __thread struct context_block context_block
	__attribute__((tls_model("initial-exec")));
struct context_page {
	/* another number when something cached may have changed; 0: in a child of fork */
	uint32_t generation;
	int32_t vpid;                   /* 0: ask */
	/* exchange.c: a bit per lane that this process has an open question to */
	uint32_t questions;
	char rest[4096 - 12];
};
extern TRAIL_HIDDEN struct context_page context_page;
/* Fills the block; false if the contexts cannot be read in this way. */
bool TRAIL_HIDDEN context_refill(const struct extra *x, const void *ip);
extern TRAIL_HIDDEN bool context_may_block;     /* TRAIL_ALLOW_BLOCKING */
/* Bytes of the kind's value in an event; 0: no such kind; UINT32_MAX: differs. */
uint32_t TRAIL_HIDDEN context_size(uint32_t kind);
/* Whether a thread's value stays the same until context_changed(). */
bool TRAIL_HIDDEN context_is_steady(uint32_t kind);
/*
 * Writes the contexts of x to `at` (room bytes). Returns their size; 0 if there is not enough room.
 * Async-signal-safe.
 */
size_t TRAIL_HIDDEN context_put(const struct extra *x, uint8_t *at, size_t room, const void *ip);
struct filter_value;
/* for filters */
bool TRAIL_HIDDEN context_value(void *ip, uint32_t kind, const char *name,
				struct filter_value *out);
/* makes a place for the name; UINT32_MAX: no room */
uint32_t TRAIL_HIDDEN app_context_index(const char *name);
/* what is cached does not hold any more, in all threads */
void TRAIL_HIDDEN context_changed(void);
void TRAIL_HIDDEN context_init(void);           /* from the constructor */
void TRAIL_HIDDEN context_forked(void);
/* this thread's values, for when they cannot be asked for */
void TRAIL_HIDDEN context_fetch(void);

/* interpose.c; the archive has none */
void TRAIL_HIDDEN interpose_init(void) __attribute__((weak));

/* register.c */
/* in a forked child, with the registration lock held; releases it */
void TRAIL_HIDDEN register_forked(void);
/* in a child that was forked without the lock held */
void TRAIL_HIDDEN register_abandon(void);
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
extern TRAIL_HIDDEN bool missed_any;                    /* some hit was, since the last attach */

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
bool TRAIL_HIDDEN slot_populate(const struct mapping *m, uint32_t ring, uint64_t subbuf);
void TRAIL_HIDDEN slot_lost(const struct slot *slot, uint64_t n);
/* An event of a mapping that is counts_only. False: the slot is stale. */
bool TRAIL_HIDDEN slot_count_lost(const struct slot *slot);
/*
 * Waits a while for room in the slot's ring. False: there will be none. *began: when the wait
 * began; 0: not yet.
 */
bool TRAIL_HIDDEN slot_wait(const struct slot *slot, uint64_t *began);

#endif
