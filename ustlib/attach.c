// SPDX-License-Identifier: MIT
/*
 * Attaching: asking the daemon where events go. An object's constructor does it if a session is
 * active then; else the first hit after a state word changed. One thread asks, with signals
 * blocked, until the daemon was silent for 10 ms (TRAIL_ATTACH_TIMEOUT) or 250 ms have passed.
 * Threads that need the answer too sleep until it is there (lock.c). After that none waits before
 * a word changes: hits of tracepoints without a place are counted through tp->missed, in the
 * registration file, and moved to the rings' `lost` when an answer comes (exchange.c keeps the
 * question open). A tracepoint that has places keeps them. What becomes of the answer is in
 * slots.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ustlib/exchange.h"
#include "ustlib/lib.h"
#include "ustlib/words.h"
#include "ustlib/statedump.h"

bool attach_failed, missed_any;

/* Under the registration lock, as all here: */
static bool lane_failed[LANES];
static uint64_t lane_statedump[LANES]; /* the number that the last plan had */
static bool statedump_due;
static uint32_t answers; /* atomic: how many were taken */

/* ---- no answer ---- */

/*
 * A daemon that was killed left this file, and a later one will account for what was missed. So
 * will the daemon that a process after chroot(2) cannot reach.
 */
static bool daemon_was_here(unsigned int lane)
{
	char path[sizeof(runtime_dir[0]) + 8];
	struct stat st;

	if (lane_is_hidden(lane))
		return true;
	snprintf(path, sizeof(path), "%s/active", runtime_dir[lane]);
	return stat(path, &st) == 0 && (lane == TRAIL_LANE_ROOT) == is_of_root(st.st_uid);
}

/* No answer will come: nothing is tried again before a word changes. */
static void give_up(unsigned int lane)
{
	for (struct object *o = objects; o; o = o->next)
		for (uint32_t e = 0; o->map && e < o->event_count; e++)
			set_seen(o->tps[e], lane, lane_of(word_of(o->tps[e]), lane));
}

/* ---- an answer ---- */

static uint64_t *placed_bits(struct object *o, unsigned int lane)
{
	if (!o->placed[lane])
		o->placed[lane] = arena_alloc((o->capacity + 63) / 64 * sizeof(uint64_t));
	return o->placed[lane];
}

/*
 * The slots from first to end are the plan's for object number `index`. What had slots and is not
 * among them loses them.
 */
static void apply_object(const struct taken_plan *p, unsigned int lane, uint32_t index,
			 uint32_t first, uint32_t end)
{
	static uint64_t now[TRAIL_EVENT_MAX / 64]; /* under the lock */
	struct object *o = p->objects[index];
	uint64_t *placed = placed_bits(o, lane), gone;
	uint32_t words = (o->event_count + 63) / 64, next;

	if (!placed)
		return;
	memset(now, 0, words * sizeof(*now));
	for (uint32_t i = first; i < end; i = next) {
		uint32_t e = p->slots[i].event;

		for (next = i + 1; next < end && p->slots[next].event == e; next++)
			;
		if (e >= o->event_count)
			continue;
		slots_set(o->tps[e], lane, p, &p->slots[i], next - i);
		set_seen(o->tps[e], lane, p->slots[i].word);
		words_store(o, e, lane, (uint8_t)p->slots[i].word);
		now[e / 64] |= UINT64_C(1) << e % 64;
	}
	for (uint32_t w = 0; w < words; w++) {
		for (gone = placed[w] & ~now[w]; gone; gone &= gone - 1) {
			uint32_t e = w * 64 + (uint32_t)__builtin_ctzll(gone);

			slots_set(o->tps[e], lane, p, NULL, 0);
			set_seen(o->tps[e], lane, 0);
		}
		placed[w] = now[w];
	}
	words_resolve(o, lane);
}

void attach_apply(const struct taken_plan *p, unsigned int lane)
{
	uint32_t i = 0, end, n = p->head->slot_count;

	for (uint32_t o = 0; o < p->object_count; o++) {
		for (; i < n && p->slots[i].object < o; i++)
			;
		for (end = i; end < n && p->slots[end].object == o; end++)
			;
		if (p->objects[o] && p->objects[o]->map)
			apply_object(p, lane, o, i, end);
		i = end;
	}
	statedump_due =
		statedump_due || (p->head->statedump && p->head->statedump != lane_statedump[lane]);
	lane_statedump[lane] = p->head->statedump;
}

/* What was counted while there were no slots goes to the rings that would have had it. */
static void settle_missed(struct trail__tp *tp)
{
	const struct slots *slots = slots_of(tp);
	uint64_t n;

	if (!tp->missed || !__atomic_load_n((trail_u64 *)tp->missed, __ATOMIC_RELAXED))
		return;
	n = __atomic_exchange_n((trail_u64 *)tp->missed, 0, __ATOMIC_RELAXED);
	for (uint32_t i = 0; slots && i < slots->count; i++)
		if (*slots->slot[i].on)
			slot_lost(&slots->slot[i], n);
}

static void settle_all(void)
{
	if (attach_failed || !__atomic_exchange_n(&missed_any, false, __ATOMIC_RELAXED))
		return;
	for (struct object *o = objects; o; o = o->next)
		for (uint32_t e = 0; e < o->event_count; e++)
			settle_missed(o->tps[e]);
}

/* ---- asking ---- */

static enum outcome note_outcome(unsigned int lane, enum outcome outcome)
{
	lane_failed[lane] = outcome != TAKEN && (outcome != NO_DAEMON || daemon_was_here(lane));
	if (outcome == TAKEN)
		__atomic_fetch_add(&answers, 1, __ATOMIC_RELEASE);
	else if (outcome == NO_DAEMON && !lane_failed[lane])
		/* They cost nothing until a daemon comes, which writes all words. */
		for (struct object *o = objects; o; o = o->next)
			words_resolve(o, lane);
	if (outcome == FAILED || outcome == NO_DAEMON)
		give_up(lane);
	return outcome;
}

/* While a question is open no other is put: a daemon that stands still is waited for once. */
static enum outcome ask_lane(unsigned int lane)
{
	enum outcome outcome =
		exchange_open(lane) ? note_outcome(lane, exchange_look(lane)) : TAKEN;

	return outcome == LATE ? LATE : note_outcome(lane, exchange(lane));
}

static void update_failed(void)
{
	bool failed = false;

	for (unsigned int lane = 0; lane < LANES; lane++)
		failed = failed || lane_failed[lane];
	__atomic_store_n(&attach_failed, failed, __ATOMIC_RELAXED);
}

static bool is_stale(const struct slot *slot)
{
	uint8_t on = __atomic_load_n(slot->on, __ATOMIC_RELAXED);

	return on && on != slot->on_value;
}

/* The lanes that have a stale slot here. */
static unsigned int stale_lanes(const struct trail__tp *tp)
{
	const struct slots *slots = slots_of(tp);
	unsigned int lanes = 0;

	for (uint32_t i = 0; slots && i < slots->count; i++)
		if (is_stale(&slots->slot[i]))
			lanes |= 1u << slots->slot[i].lane;
	return lanes;
}

static unsigned int dirty_lanes(const struct trail__tp *tp)
{
	uint32_t word = word_of(tp);
	unsigned int lanes = 0;

	for (unsigned int lane = 0; lane < LANES; lane++)
		if (lane_of(word, lane) != lane_of(tp->seen, lane))
			lanes |= 1u << lane;
	return lanes;
}

static void after_asking(void)
{
	update_failed();
	settle_all();
	slots_reclaim();
}

/* The lock is held. */
static void ask_for(struct trail__tp *tp, unsigned int lane)
{
	/* Taken before the daemon is asked, so that a change after that is seen as a change. */
	uint32_t value = lane_of(word_of(tp), lane);

	words_keep(lane);
	if (note_outcome(lane, exchange(lane)) != TAKEN)
		return;
	if (lane_of(word_of(tp), lane) == value)
		/* On, but no ring takes it: there is no reason to ask at each hit. */
		set_seen(tp, lane, value);
	words_settle(tp, lane);
}

/* The lock is held. */
static void ask(struct trail__tp *tp, bool again)
{
	unsigned int lanes = dirty_lanes(tp) | (again ? stale_lanes(tp) : 0);

	for (unsigned int lane = 0; tp->object && lane < LANES; lane++) {
		if (!(lanes & 1u << lane))
			continue;
		/* The answer that was open may be all that is needed. */
		if (exchange_open(lane) && note_outcome(lane, exchange_look(lane)) != FAILED &&
		    (lane_failed[lane] || !((dirty_lanes(tp) | stale_lanes(tp)) & 1u << lane)))
			continue;
		ask_for(tp, lane);
	}
	after_asking();
}

/* A fork that fork(3) knew nothing of is made good here, with the lock held. */
static void after_strange_fork(void)
{
	thread_state.forked = false;
	thread_state.shift = 0;
	register_forked();
}

static bool has_slots(const struct trail__tp *tp)
{
	return __atomic_load_n(&tp->slot, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&tp->places, __ATOMIC_RELAXED);
}

/*
 * Without the lock: all that is to be asked has been, and it is not yet time to look for the
 * answers.
 */
static bool nothing_to_do(const struct trail__tp *tp)
{
	unsigned int lanes = dirty_lanes(tp);
	int64_t now = 0;

	for (unsigned int lane = 0; lane < LANES; lane++) {
		if (!(lanes & 1u << lane))
			continue;
		now = now ? now : now_us();
		if (!exchange_open(lane) || exchange_due(lane, now))
			return false;
	}
	return true;
}

/* Another thread has just done what this one wants. */
static bool done_meanwhile(const struct trail__tp *tp, bool again, uint32_t before)
{
	if (again)
		return before != __atomic_load_n(&answers, __ATOMIC_ACQUIRE);
	/* Pairs with the release in set_seen(). */
	return __atomic_load_n(&tp->seen, __ATOMIC_ACQUIRE) == word_of(tp);
}

/*
 * True: the lock is held. False: another thread has asked, or the time is over; *done says which.
 */
static bool take_turn(const struct trail__tp *tp, bool again, bool *done)
{
	uint32_t before = __atomic_load_n(&answers, __ATOMIC_ACQUIRE);
	bool may_go_on = has_slots(tp);
	int64_t us = attach_total_us(), until = 0;

	if (may_go_on && us > attach_ms * 1000ll)
		us = attach_ms * 1000ll;
	for (;;) {
		*done = done_meanwhile(tp, again, before) || (!again && nothing_to_do(tp));
		if (*done)
			return false;
		if (objects_trylock())
			return true;
		until = until ? until : now_us() + us;
		if (!objects_wait(until)) {
			if (!may_go_on && us > 0 && now_us() >= until)
				objects_stuck();
			return false;
		}
	}
}

bool attach(struct trail__tp *tp, bool again)
{
	bool done, dump = false;
	int saved = errno;

	if (library_sealed || thread_is_foreign())
		return false;
	if (thread_state.forked && objects_trylock())
		after_strange_fork();
	if (take_turn(tp, again, &done)) {
		if (library_sealed) {
			objects_unlock();
			return false;
		}
		register_identity_now();
		ask(tp, again);
		dump = statedump_due;
		statedump_due = false;
		done = true;
		objects_unlock();
	}
	if (dump)
		trail__statedump_run();
	errno = saved;
	return done || has_slots(tp);
}

bool attach_object(struct object *o, unsigned int lanes)
{
	bool dump;

	for (unsigned int lane = 0; lane < LANES; lane++)
		if (lanes & 1u << lane && o->map && ask_lane(lane) != TAKEN && lane_failed[lane])
			words_set_unknown(o, lane);
	after_asking();
	dump = statedump_due;
	statedump_due = false;
	return dump;
}

/* The next tracepoint from e on that has slots, or event_count. */
static uint32_t next_placed(const struct object *o, uint32_t e)
{
	while (e < o->event_count) {
		uint64_t bits = 0;

		for (unsigned int lane = 0; lane < LANES; lane++)
			bits |= o->placed[lane] ? o->placed[lane][e / 64] >> e % 64 : 0;
		if (bits)
			return e + (uint32_t)__builtin_ctzll(bits);
		e = (e | 63) + 1;
	}
	return o->event_count;
}

static bool has_missed(const struct object *o)
{
	for (uint32_t e = 0; e < o->event_count; e++)
		if (o->tps[e]->missed && *o->tps[e]->missed && *o->tps[e]->state)
			return true;
	return false;
}

bool attach_last(struct object *o)
{
	bool any = __atomic_load_n(&missed_any, __ATOMIC_RELAXED), missed = any && has_missed(o);

	for (unsigned int lane = 0; missed && lane < LANES; lane++)
		if (lane_failed[lane])
			ask_lane(lane);
	update_failed();
	missed = missed && attach_failed;
	for (uint32_t e = 0; any && !missed && e < o->event_count; e++)
		settle_missed(o->tps[e]);
	for (uint32_t e = next_placed(o, 0); e < o->event_count; e = next_placed(o, e + 1))
		slots_drop(o->tps[e]);
	exchange_forget(o);
	return !missed;
}

static bool has_own(const struct trail__tp *tp)
{
	const struct slots *slots = slots_of(tp);

	for (uint32_t i = 0; slots && i < slots->count; i++)
		if (slots->slot[i].own)
			return true;
	return false;
}

static void ask_unknown(unsigned int lane)
{
	bool taken = ask_lane(lane) == TAKEN;

	for (struct object *o = objects; o; o = o->next)
		if (!taken && lane_failed[lane] && o->unknown & 1u << lane)
			words_set_unknown(o, lane);
}

/*
 * In a forked child: rings of the parent process alone are not ours. What is dropped is asked for
 * at once.
 */
bool attach_forked(unsigned int lanes)
{
	bool all = lanes != 0, dump;

	slot_users = 0; /* the other threads are not here */
	for (unsigned int lane = 0; lane < LANES; lane++)
		exchange_drop(lane);
	for (struct object *o = objects; o; o = o->next)
		for (uint32_t e = next_placed(o, 0); e < o->event_count;
		     e = next_placed(o, e + 1)) {
			struct trail__tp *tp = o->tps[e];

			if (!all && !has_own(tp))
				continue;
			slots_drop(tp);
			tp->seen = ~*tp->state;
			for (unsigned int lane = 0; lane < LANES; lane++)
				lanes |= (o->placed[lane] != NULL) << lane;
		}
	for (unsigned int lane = 0; lane < LANES; lane++)
		if (lanes & 1u << lane && !library_sealed)
			ask_unknown(lane);
	update_failed();
	dump = statedump_due;
	statedump_due = false;
	return dump;
}

void attach_anew(void)
{
	for (unsigned int lane = 0; lane < LANES; lane++)
		exchange_drop(lane);
	for (struct object *o = objects; o; o = o->next)
		for (uint32_t e = 0; e < o->event_count; e++) {
			slots_drop(o->tps[e]);
			o->tps[e]->seen = ~*o->tps[e]->state;
		}
}

void attach_drop_stale(struct trail__tp *tp)
{
	int saved = errno;

	if (!library_sealed && !thread_is_foreign() && objects_trylock()) {
		slots_drop_stale(tp);
		objects_unlock();
	}
	errno = saved;
}

static bool any_dirty(unsigned int lane)
{
	for (struct object *o = objects; o; o = o->next)
		for (uint32_t e = 0; o->map && e < o->event_count; e++)
			if (dirty_lanes(o->tps[e]) & 1u << lane)
				return true;
	return false;
}

int attach_all(void)
{
	for (unsigned int lane = 0; lane < LANES; lane++)
		if (lane_failed[lane] || any_dirty(lane))
			note_outcome(lane, exchange(lane));
	after_asking();
	return attach_failed ? -ETIMEDOUT : 0;
}
