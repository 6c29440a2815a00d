// SPDX-License-Identifier: MIT
/*
 * The event path. A hit whose event is on comes here with its payload on the stack:
 *
 *	guard		at the call site; trail__ready: is the trace point set up for the present
 *			state word? (else attach.c)
 *	extra		only where the slot says so: the filter decides, the contexts are put before
 *			the payload
 *	fast path	one restartable section (section.h), a handful of nanoseconds; where the
 *			kernel's clock is not the TSC, after the call that asks it
 *	slow path	the clock's epoch changed, the sub-buffer is full, …: work out what to store
 *			in C, then commit it in a short section that checks that it is still true
 *	stale		the slot was retired, or the daemon has to decide again: ask the daemon,
 *			then once more
 *	lost		neither: count it where the reader finds it
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ustlib/lib.h"
#include "tracer/abi/filter_interp.h"
#include "tracer/abi/pick.h"

#define AGAIN 3                 /* times that a hit asks the daemon again */
#define DONE_MAX 32             /* channels that record one event, as far as a hit remembers them */

/*
 * Counts in the registration file: the daemon finds the count there if the process ends before it
 * reports it.
 */
void tp_missed(struct trail__tp *tp)
{
	trail_u64 *missed = (trail_u64 *)__atomic_load_n(&tp->missed, __ATOMIC_RELAXED);

	if (missed)
		__atomic_fetch_add(missed, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&missed_any, true, __ATOMIC_RELAXED);
}

#ifdef HAVE_SECTIONS
#include "ustlib/section.h"
#endif

enum slow { SLOW_WRITE, SLOW_LOSE, SLOW_COUNT };

/*
 * Writes or counts an event outside a section, where the slot's mapping must be kept. False: the
 * slot is stale.
 */
static __attribute__((noinline, cold)) bool with_mapping(const struct slot *slot, uint64_t seq,
							 const void *data, size_t len, int tries,
							 enum slow what)
{
	bool good = true;

	(void)tries;
	if (thread_is_foreign() && what == SLOW_WRITE)  /* must not write, but may count */
		what = SLOW_LOSE;
	else if (thread_state.forked)        /* rings and registration are still the parent's */
		return false;
	/* before the load: see slots.c, slots_reclaim() */
	__atomic_fetch_add(&slot_users, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&slot->seq, __ATOMIC_SEQ_CST) != seq || slot->flags & SLOT_RETIRED)
		good = false;
	else if (what == SLOW_LOSE)
		slot_lost(slot, 1);
	else if (slot->mapping->counts_only)
		good = slot_count_lost(slot);
	else if (what == SLOW_COUNT)
		good = slot_count_hit(slot);
#ifdef HAVE_SECTIONS
	else if (slot->mapping->kind != TRAIL_RINGS_THREAD)
		good = slow_write(slot, data, len, tries);
#endif
	else
		good = thread_write(slot, data, len);
	__atomic_fetch_sub(&slot_users, 1, __ATOMIC_RELEASE);
	return good;
}

#ifdef HAVE_SECTIONS
/* The fast path where the kernel's clock is not the TSC. */
static __attribute__((noinline)) enum section write_timed(const struct slot *slot, uint64_t seq,
							  const void *data, size_t len)
{
	uint64_t now = slot_clock(0, 0);

	return section_event_timed(rseq_self(), slot, seq, data, len, now);
}
#endif

/* False: the slot is stale. */
static inline __attribute__((always_inline)) bool write_slot(const struct slot *slot, uint64_t seq,
							     const void *data, size_t len)
{
#ifdef HAVE_SECTIONS
	for (int tries = 0; tries < TRIES; tries++) {
		enum section r = section_event(rseq_self(), slot, seq, data, len);

		if (r == SECTION_SLOW && __atomic_load_n(&slot->timed_count, __ATOMIC_RELAXED))
			r = write_timed(slot, seq, data, len);
		if (likely(r == SECTION_DONE) || r == SECTION_OFF)
			return true;
		if (r == SECTION_STALE)
			return false;
		if (r == SECTION_SLOW)
			return with_mapping(slot, seq, data, len, tries, SLOW_WRITE);
	}
	return with_mapping(slot, seq, data, len, 0, SLOW_LOSE);
#else
	return with_mapping(slot, seq, data, len, 0, SLOW_WRITE);
#endif
}

/* ---- filters and contexts ---- */

struct hit {
	uint8_t *data;          /* the payload, TRAIL__HEADROOM before it, TRAIL__SPARE after it */
	size_t len, unwritten;
	const void *ip;
};

/*
 * True if the fields that were read of the slot belong together. Pairs with the order of stores in
 * slots.c, slot_fill() and slots_retire().
 */
static inline __attribute__((always_inline)) bool still(const struct slot *slot, uint64_t seq)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&slot->seq, __ATOMIC_RELAXED) == seq;
}

/* Contexts that the headroom does not hold: builds the event in a buffer of its own. */
static __attribute__((noinline)) bool write_copied(const struct slot *slot, uint64_t seq,
						   const struct slot_extra *x, const struct hit *h)
{
	uint8_t small[1536], *buffer = small;
	size_t room = 512, total, n;
	int saved = errno;
	bool good;

	for (uint32_t i = 0, max = __atomic_load_n(&x->context_count, __ATOMIC_RELAXED);
	     i < max && i < TRAIL_CONTEXT_MAX; i++)
		room += 24;
	for (;;) {
		total = room + h->len + TRAIL__SPARE;
		if (total > sizeof(small)) {
			buffer = library_sealed ? MAP_FAILED
					       : mmap(NULL, total, PROT_READ | PROT_WRITE,
						      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			if (buffer == MAP_FAILED) {
				errno = saved;
				return with_mapping(slot, seq, NULL, 0, 0, SLOW_LOSE);
			}
		}
		n = context_put(x, buffer, room, h->ip);
		if (n || room > 20000)
			break;
		if (buffer != small)
			munmap(buffer, total);
		room = 20480;   /* for the largest strings */
	}
	memcpy(buffer + n, h->data, h->len);
	good = n ? write_slot(slot, seq, buffer, n + h->len)
		 : with_mapping(slot, seq, NULL, 0, 0, SLOW_LOSE);
	if (buffer != small)
		munmap(buffer, total);
	errno = saved;
	return good;
}

/*
 * A copy of constant size. A handler that interrupts it may replace the block: then it is not the
 * same afterwards.
 */
static inline __attribute__((always_inline)) bool put_steady(const struct slot_extra *x,
							     const struct hit *h)
{
	uint64_t id = __atomic_load_n(&x->steady, __ATOMIC_RELAXED);
	uint32_t generation = __atomic_load_n(&context_page.generation, __ATOMIC_ACQUIRE);

	if (!id)
		return false;
	if (unlikely(context_block.id != id || context_block.generation != generation) &&
	    !context_refill(x, h->ip))
		return false;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	memcpy(h->data - TRAIL__HEADROOM, context_block.bytes, TRAIL__HEADROOM);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&context_block.id, __ATOMIC_RELAXED) == id;
}

#include "ustlib/hit_rings.inc"

/* ---- events with a filter, contexts or a bell ---- */

/* wake: constant. False: the slot is stale. */
static inline __attribute__((always_inline)) bool filter_and_write(const struct slot *slot,
								   uint64_t seq,
								   const struct slot_extra *x,
								   const struct hit *h, bool wake)
{
	uint32_t contexts, size, program, at;

	contexts = __atomic_load_n(&x->context_count, __ATOMIC_RELAXED);
	size = __atomic_load_n(&x->context_size, __ATOMIC_RELAXED);
	program = __atomic_load_n(&x->program_size, __ATOMIC_RELAXED);
	if (program) {
		const struct filter_input in = {
			.payload = h->data,
			.len = h->len + h->unwritten,
			.context = context_value,
			.arg = (void *)h->ip,
		};

		at = contexts * (uint32_t)sizeof(struct placed_context);
		if (contexts > TRAIL_CONTEXT_MAX || at > x->capacity || program > x->capacity - at)
			return false;
		if (!filter_run((const uint8_t *)x->data + at, program, &in))
			return still(slot, seq);
	}
	if (!contexts)
		return wake ? write_and_wake(slot, seq, h->data, h->len)
			    : write_slot(slot, seq, h->data, h->len);
	if (size <= TRAIL__HEADROOM &&
	    (put_steady(x, h) || context_put(x, h->data - size, size, h->ip) == size))
		return wake ? write_and_wake(slot, seq, h->data - size, h->len + size)
			    : write_slot(slot, seq, h->data - size, h->len + size);
	if (!wake)
		return write_copied(slot, seq, x, h);
	if (!write_copied(slot, seq, x, h))
		return false;
	ring_bell(slot, seq);
	return true;
}

static __attribute__((noinline)) bool
filter_and_wake(const struct slot *slot, uint64_t seq, const struct slot_extra *x,
		const struct hit *h)
{
	return filter_and_write(slot, seq, x, h, true);
}

#include "ustlib/hit_picked.inc"
#include "ustlib/hit_counted.inc"

static __attribute__((noinline)) bool hit_wake(const struct slot *slot, uint64_t seq,
					       const struct hit *h)
{
	const struct slot_extra *x = __atomic_load_n(&slot->extra, __ATOMIC_RELAXED);
	uint8_t flags = __atomic_load_n(&slot->flags, __ATOMIC_RELAXED);

	if (flags & SLOT_COUNT)
		return hit_counted(slot, seq, flags, h);
	if (!x || flags & (SLOT_RETIRED | SLOT_PICK))
		return hit_picked(slot, seq, x, h);
	if (__atomic_load_n(&x->context_count, __ATOMIC_RELAXED) |
	    __atomic_load_n(&x->program_size, __ATOMIC_RELAXED))
		return filter_and_wake(slot, seq, x, h);
	return write_and_wake(slot, seq, h->data, h->len);
}

static __attribute__((noinline)) bool hit_extra(const struct slot *slot, uint64_t seq,
						const struct hit *h)
{
	const struct slot_extra *x = __atomic_load_n(&slot->extra, __ATOMIC_RELAXED);

	return likely(x) && filter_and_write(slot, seq, x, h, false);
}

/* False: the slot is stale. */
static inline __attribute__((always_inline)) bool hit_slot(const struct slot *slot,
							   const struct hit *h)
{
	/* Read seq before the other fields: the section compares it with the value at that time. */
	uint64_t seq = __atomic_load_n(&slot->seq, __ATOMIC_ACQUIRE);
	uint8_t flags = __atomic_load_n(&slot->flags, __ATOMIC_RELAXED);

	if (unlikely(flags)) {
		enum quick_outcome quick = flags & SLOT_QUICK
						   ? quick_test(&slot->quick, h->data, h->len)
						   : QUICK_CANNOT;

		if (quick == QUICK_REJECTS)
			return still(slot, seq);
		/* If the slot is retired after this, the section or still() sees it by seq. */
		if (quick == QUICK_CANNOT || !(flags & SLOT_DECIDED))
			return unlikely(flags & (SLOT_RETIRED | SLOT_WAKE | SLOT_PICK | SLOT_COUNT))
				       ? hit_wake(slot, seq, h)
				       : hit_extra(slot, seq, h);
	}
	return write_slot(slot, seq, h->data, h->len);
}

static bool is_done(const uint64_t *done, uint32_t n, uint64_t key)
{
	while (n > 0 && done[n - 1] != key)
		n--;
	return n > 0;
}

/*
 * Counts the event as lost in each place that is not in `done`.
 */
static void lose_others(struct trail__tp *tp, const uint64_t *done, uint32_t n)
{
	const struct slots *slots;
	uint32_t counted = 0;

	/* before the load: see slots.c, slots_reclaim() */
	__atomic_fetch_add(&slot_users, 1, __ATOMIC_SEQ_CST);
	slots = slots_of(tp);
	for (uint32_t i = 0; slots && i < slots->count; i++)
		if (!is_done(done, n, slots->slot[i].key) &&
		    !(slots->slot[i].flags & SLOT_RETIRED) && *slots->slot[i].on) {
			slot_lost(&slots->slot[i], 1);
			counted++;
		}
	__atomic_fetch_sub(&slot_users, 1, __ATOMIC_RELEASE);
	if (!counted && !n)
		tp_missed(tp);
}

/* A slot is stale: asks the daemon, then records in each place that is not in `done`. */
static __attribute__((noinline, cold)) void record_again(struct trail__tp *tp, const struct hit *h,
							 const uint64_t *before, uint32_t n)
{
	uint64_t done[DONE_MAX];

	if (n)
		memcpy(done, before, n * sizeof(*done));
	for (int again = 0; again < AGAIN && attach(tp, true); again++) {
		const struct slots *slots = slots_of(tp);
		bool good = true;

		for (uint32_t i = 0, count = slots ? slots->count : 0; i < count; i++) {
			uint64_t key = slots->slot[i].key;

			if (is_done(done, n, key))
				continue;
			if (!hit_slot(&slots->slot[i], h))
				good = false;
			else if (n < DONE_MAX)
				done[n++] = key;
		}
		if (good)
			return;
	}
	lose_others(tp, done, n);
	/*
	 * No daemon has answered: drop the stale slots, so that they cost no attempts until a word
	 * changes.
	 */
	if (__atomic_load_n(&attach_failed, __ATOMIC_RELAXED))
		attach_drop_stale(tp);
}

static __attribute__((noinline)) void record_several(struct trail__tp *tp, const struct hit *h)
{
	const struct slots *slots =
		__atomic_load_n((const struct slots *const *)&tp->places, __ATOMIC_ACQUIRE);
	uint64_t done[DONE_MAX];
	uint32_t n = 0;
	bool good = true;

	/*
	 * A block of slots never moves; if it was retired and filled again meanwhile, each seq says
	 * so.
	 */
	for (uint32_t i = 0, count = slots ? __atomic_load_n(&slots->count, __ATOMIC_RELAXED) : 0;
	     i < count && i < slots->capacity; i++) {
		uint64_t key = slots->slot[i].key;

		if (!hit_slot(&slots->slot[i], h))
			good = false;
		else if (n < DONE_MAX)
			done[n++] = key;
	}
	if (!good)
		record_again(tp, h, done, n);
}

/* ---- entries ---- */

static __attribute__((noinline, cold)) int attach_first(struct trail__tp *tp)
{
	if (!attach(tp, false)) {
		tp_missed(tp);
		return 0;
	}
	if (__atomic_load_n(&tp->slot, __ATOMIC_RELAXED) ||
	    __atomic_load_n(&tp->places, __ATOMIC_RELAXED))
		return 1;
	if (__atomic_load_n(&attach_failed, __ATOMIC_RELAXED))
		tp_missed(tp);
	return 0;
}

TRAIL_EXPORT int trail__ready(struct trail__tp *tp)
{
	/*
	 * Pairs with the release store of seen in attach.c: what was set up for this state is
	 * visible.
	 */
	if (unlikely(__atomic_load_n(&tp->seen, __ATOMIC_ACQUIRE) !=
		     __atomic_load_n(tp->state, __ATOMIC_RELAXED)))
		return attach_first(tp);
	if (__atomic_load_n(&tp->slot, __ATOMIC_RELAXED) ||
	    __atomic_load_n(&tp->places, __ATOMIC_RELAXED))
		return 1;
	if (__atomic_load_n(&attach_failed, __ATOMIC_RELAXED))
		tp_missed(tp);
	return 0;
}

static __attribute__((noinline)) void record(struct trail__tp *tp, void *data, size_t len,
					     size_t unwritten, const void *ip)
{
	const struct slot *slot =
		__atomic_load_n((const struct slot *const *)&tp->slot, __ATOMIC_ACQUIRE);
	const struct hit h = { data, len, unwritten, ip };

	if (unlikely(!slot))
		record_several(tp, &h);
	else if (unlikely(!hit_slot(slot, &h)))
		record_again(tp, &h, NULL, 0);
}

TRAIL_EXPORT void trail__record_at(struct trail__tp *tp, void *data, size_t len, size_t unwritten,
				   const void *ip)
{
	if (!settled(tp, data, len))
		record(tp, data, len, unwritten, ip ? ip : __builtin_return_address(0));
}

TRAIL_EXPORT void trail__record(struct trail__tp *tp, void *data, size_t len)
{
	if (!settled(tp, data, len))
		record(tp, data, len, 0, __builtin_return_address(0));
}
