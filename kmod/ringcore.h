/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The writer of tracer/abi/module_ring.h's rings. Includes nothing of the kernel, so that a unit
 * test can run it with signals for interrupts.
 *
 * The caller has preemption off and uses the ring of its CPU. So the writers of a ring nest: a
 * writer that interrupts another has finished before the other continues. The rest follows from
 * this:
 *
 *   - nest is incremented first, and falls when all is written.
 *   - claim: read `reserve`, take the time, compare-and-exchange `reserve` from what was read. If
 *     an interrupt came in between, it has claimed something, so it fails, and a new time is taken.
 *     Hence times are in the order of positions. No lock prefix: only this CPU writes the word.
 *   - From then on the place is the claimer's alone. A writer that interrupts it claims what
 *     follows. So a late store hits nothing else.
 *   - publish: the outermost (nest is 1) stores head = reserve's position: everything claimed so
 *     far is finished then, it being nested in the outermost, or before. An interrupt that comes
 *     after reserve was read sees nest > 0 and leaves the publishing to us; so after nest fell to 0
 *     we look again. One that comes after nest fell to 0 publishes all by itself. Head never goes
 *     back, because between an outermost's read of reserve and its store of head no other writer
 *     publishes.
 *   - No writer claims, one round later, what is not published yet: kring_limit.
 *   - `events` is incremented after the claim and may be stale by as many events as nest:
 *     kring_events puts that right by the count's low bits in reserve.
 */
#ifndef KMOD_RINGCORE_H
#define KMOD_RINGCORE_H

#include "tracer/abi/module_ring.h"

#define KRING_TRIES 100

struct kring_geometry {                 /* the writer's own copy; constant */
	__u32 size;                     /* of a sub-buffer: a power of two */
	__u32 overwrite;
	__u64 total;                    /* all sub-buffers: a power of two */
	__u64 (*clock)(void);           /* NULL: kring_tsc */
};

#define KRING_COLD __attribute__((__noinline__, __cold__, __unused__))
#define kring_barrier() __asm__ __volatile__("" ::: "memory")
#define KRING_ONCE(x) (*(volatile __typeof__(x) *)&(x))
/* Of 64 bits, at once: nothing comes in between on a processor of 32 bits either. */
#define kring_load(p) __atomic_load_n(p, __ATOMIC_RELAXED)

/*
 * True if *p was `from` and is `to` now. Against interrupts of this CPU, not against others. A
 * release: a reader that sees a claim sees the records before it. x86 keeps stores in order.
 */
static inline _Bool kring_exchange(__u64 *p, __u64 from, __u64 to)
{
#ifdef __x86_64__
	__u64 was = from;
	_Bool done;

	__asm__ __volatile__("cmpxchgq %3, %1"
			     : "=@ccz"(done), "+m"(*p), "+a"(was)
			     : "r"(to)
			     : "memory");
	return done;
#else
	return __atomic_compare_exchange_n(p, &from, to, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
#endif
}

static inline void kring_increment(__u64 *p)
{
#ifdef __x86_64__
	/* one instruction: nothing can come in between */
	__asm__ __volatile__("incq %0" : "+m" (*p));
#else
	__atomic_fetch_add(p, 1, __ATOMIC_RELAXED);
#endif
}

/* A clock that may go back a little (CLOCK_MONOTONIC, in an NMI) does not in the ring. */
static inline __u64 kring_time(struct kring *r, __u64 ts)
{
	for (;;) {
		__u64 last = kring_load(&r->last_ts);

		if (ts <= last)
			return last;
		if (kring_exchange(&r->last_ts, last, ts))
			return ts;
	}
}

static inline __u64 kring_tsc(void)
{
#ifdef __x86_64__
	__u32 lo, hi;

	__asm__ __volatile__("rdtsc" : "=a" (lo), "=d" (hi));
	return (__u64)hi << 32 | lo;
#else
	return 0;
#endif
}

/* No position from here on may be claimed: it would overwrite what is needed. */
static inline __u64 kring_limit(const struct kring *r, const struct kring_geometry *g)
{
	__u64 from = g->overwrite ? kring_load(&r->head) : kring_load(&r->consumed);

	return (from & ~(__u64)(g->size - 1)) + g->total;
}

static KRING_COLD void kring_leave_again(struct kring *r)
{
	while (kring_load(&r->head) != kring_position(kring_load(&r->reserve))) {
		KRING_ONCE(r->nest) = 1;
		kring_barrier();
		__atomic_store_n(&r->head, kring_position(kring_load(&r->reserve)),
				 __ATOMIC_RELEASE);
		kring_barrier();
		KRING_ONCE(r->nest) = 0;
		kring_barrier();
	}
}

static inline void kring_leave(struct kring *r)
{
	__u64 word;

	kring_barrier();
	if (KRING_ONCE(r->nest) != 1) {
		KRING_ONCE(r->nest) = KRING_ONCE(r->nest) - 1;
		return;
	}
	word = kring_load(&r->reserve);
	__atomic_store_n(&r->head, kring_position(word), __ATOMIC_RELEASE);
	kring_barrier();
	KRING_ONCE(r->nest) = 0;
	kring_barrier();
	if (__builtin_expect(kring_load(&r->reserve) != word, 0))
		kring_leave_again(r);
}

/* What a new sub-buffer at `next` needs: what is left of the one before, and its own beginning. */
static inline void kring_open(__u8 *data, const struct kring_geometry *g, __u64 pos, __u64 next,
			      __u64 ts, __u64 events)
{
	struct krec *pad = (struct krec *)(data + (pos & (g->total - 1)));
	struct krec_begin *begin = (struct krec_begin *)(data + (next & (g->total - 1)));

	if (next - pos >= sizeof(*pad))
		*pad = (struct krec){ .ts = ts,
				      .len = (__u32)(next - pos - sizeof(*pad)),
				      .kind = KREC_PAD };
	*begin = (struct krec_begin){
		.rec = { .ts = ts, .len = sizeof(begin->events), .kind = KREC_BEGIN },
		.events = events
	};
}

/* The position after an event of `need` bytes, and one event more. */
static inline __u64 kring_next(__u64 word, __u64 need)
{
	return word + (1ull << KRING_EVENTS_SHIFT | need >> 3);
}

static inline void *kring_begin(struct kring *r, __u8 *data, const struct kring_geometry *g,
				__u64 at, __u64 ts, __u32 len)
{
	struct krec *rec = (struct krec *)(data + (at & (g->total - 1)));

	kring_increment(&r->events);
	rec->ts = ts;
	rec->len = len;
	rec->kind = KREC_EVENT;
	return rec + 1;
}

/*
 * Into a new sub-buffer, by another clock, or after an interrupt came in between. nest is counted
 * already.
 */
static KRING_COLD void *kring_enter_slow(struct kring *r, __u8 *data,
					 const struct kring_geometry *g, __u32 len)
{
	__u64 word, pos, at, next, ts, events,
		need = sizeof(struct krec) + (((__u64)len + 7) & ~7ull);
	int tries = KRING_TRIES;

	do {
		word = kring_load(&r->reserve);
		pos = at = kring_position(word);
		events = kring_events(kring_load(&r->events), word);
		ts = g->clock ? kring_time(r, g->clock()) : kring_tsc();
		next = 0;
		if (!(pos & (g->size - 1)) || (pos & (g->size - 1)) + need > g->size) {
			next = (pos + g->size - 1) & ~(__u64)(g->size - 1);
			at = next + sizeof(struct krec_begin);
		}
		if (len > g->size - sizeof(struct krec_begin) - sizeof(struct krec) - 8 ||
		    at + need > kring_limit(r, g) || !tries--) {
			kring_increment(&r->lost);
			kring_leave(r);
			return (void *)0;
		}
	} while (!kring_exchange(&r->reserve, word, kring_next(word, at + need - pos)));
	/*
	 * Readers see the claim before anything is overwritten. And what the reader said it has
	 * finished with, which kring_limit loaded for this sub-buffer now or by an earlier event,
	 * was loaded before. (A fence for x86's compiler, an instruction elsewhere.)
	 */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	if (at != pos)
		kring_open(data, g, pos, next, ts, events);
	return kring_begin(r, data, g, at, ts, len);
}

/*
 * Room for an event of len bytes, not zeroed. NULL: there is none, it was counted as lost. Else
 * kring_leave must follow, as soon as the event has been written.
 *
 * A sub-buffer that has been begun may be filled: its first event found the limit, a sub-buffer's
 * end, to be beyond it.
 */
static inline void *kring_enter(struct kring *r, __u8 *data, const struct kring_geometry *g,
				__u32 len)
{
	__u64 word, inside, ts, need = sizeof(struct krec) + (((__u64)len + 7) & ~7ull);

	KRING_ONCE(r->nest) = KRING_ONCE(r->nest) + 1;
	kring_barrier();
	word = kring_load(&r->reserve);
	inside = word << 3 & (g->size - 1);
	if (__builtin_expect(!inside || inside + need > g->size || g->clock, 0))
		return kring_enter_slow(r, data, g, len);
	ts = kring_tsc();
	if (__builtin_expect(!kring_exchange(&r->reserve, word, kring_next(word, need)), 0))
		return kring_enter_slow(r, data, g, len);
	__atomic_thread_fence(__ATOMIC_RELEASE);        /* as there */
	return kring_begin(r, data, g, word << 3, ts, len);
}

#endif
