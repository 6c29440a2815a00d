/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rings of trail.ko, written by the module's own writer and read by nothing but what
 * abi/module_ring.h says: a signal plays the interrupt that comes in the middle of a writer, and
 * nests as interrupts do.
 */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#include "kmod/ringcore.h"
#include "tests/lib/test.h"

#define SIZE 4096u

struct event { uint64_t number, more[]; };

static struct kring ring;
static uint8_t *data;
static struct kring_geometry geometry;
static volatile uint64_t made, wrong_clock;

static uint64_t unsteady(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	/* Goes back now and then, as the kernel's fast clock may. */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec - (++wrong_clock % 7) * 100;
}

static void start(uint32_t count, bool overwrite, uint64_t (*clock)(void))
{
	memset(&ring, 0, sizeof(ring));
	free(data);
	data = calloc(count, SIZE);
	geometry = (struct kring_geometry){ .size = SIZE,
					    .total = (uint64_t)count * SIZE,
					    .overwrite = overwrite };
	geometry.clock = (__u64 (*)(void))clock;
	made = 0;
}

/*
 * Numbers are given inside of the claim's own nesting, so they say nothing of order; each is there
 * once.
 */
static bool put(uint32_t extra)
{
	uint32_t len = (uint32_t)sizeof(struct event) + extra * 8;
	struct event *e = kring_enter(&ring, data, &geometry, len);

	if (!e)
		return false;
	e->number = __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < extra; i++)
		e->more[i] = e->number;
	kring_leave(&ring);
	return true;
}

struct reader { uint64_t pos, events, last_ts, missed; uint8_t *seen; bool bad; };

/* All that is there, in a ring that stands still. */
static void read_all(struct reader *r, uint64_t head)
{
	const struct krec *rec;
	uint64_t left;

	for (; r->pos < head; r->pos += (sizeof(*rec) + rec->len + 7) & ~7ull) {
		left = SIZE - (r->pos & (SIZE - 1));
		if (left < sizeof(*rec)) {
			r->pos += left;
			if (r->pos >= head)
				return;
		}
		rec = (const struct krec *)(data + (r->pos & (geometry.total - 1)));
		if (rec->ts < r->last_ts || rec->kind < KREC_EVENT || rec->kind > KREC_PAD ||
		    rec->len > SIZE)
			r->bad = true;
		if (r->bad)
			return;
		r->last_ts = rec->ts;
		if (rec->kind == KREC_BEGIN) {
			uint64_t events = ((const struct krec_begin *)rec)->events;

			r->bad = r->bad || events < r->events;
			r->missed += events - r->events;
			r->events = events;
		} else if (rec->kind == KREC_EVENT) {
			const struct event *e = (const struct event *)(rec + 1);

			for (uint32_t i = 0; i < rec->len / 8 - 1; i++)
				r->bad = r->bad || e->more[i] != e->number;
			r->events++;
			if (r->seen)
				r->bad = r->bad || r->seen[e->number]++;
		}
	}
}

static void discard_counts(void)
{
	struct reader r = { 0 };
	uint64_t good = 0, lost = 0;

	start(4, false, NULL);
	for (int i = 0; i < 2000; i++)
		if (put((uint32_t)i % 9))
			good++;
		else
			lost++;
	CHECK(lost > 0 && ring.lost == lost);
	read_all(&r, ring.head);
	CHECK(!r.bad && r.events == good && !r.missed);
	/* What was read makes room. */
	ring.consumed = r.pos;
	CHECK(put(1));
	CHECK(kring_events(ring.events, ring.reserve) == good + 1);
}

static void sizes(void)
{
	start(2, false, NULL);
	CHECK(!kring_enter(&ring, data, &geometry, SIZE));
	CHECK(!kring_enter(&ring, data, &geometry, UINT32_MAX));
	CHECK(ring.lost == 2 && !ring.reserve && !ring.nest);
	CHECK(kring_enter(&ring, data, &geometry, SIZE - 24 - 16 - 8));
	CHECK(!ring.head);
	kring_leave(&ring);
	CHECK(ring.head);
	CHECK(kring_enter(&ring, data, &geometry, 1));
	kring_leave(&ring);
	CHECK(!(ring.head & 7));
}

/* The count of events is kept modulo 2^16 beside the position. */
static void many_events(void)
{
	struct reader r = { 0 };
	uint64_t n = 0;

	start(2, true, NULL);
	while (n < 200000)
		n += put(0);
	CHECK(kring_events(ring.events, ring.reserve) == 200000 && !ring.lost);
	/* A stale hint, as left by a writer that was interrupted for long */
	CHECK(kring_events(ring.events - 30000, ring.reserve) == 200000);
	CHECK(kring_events(ring.events + 1, ring.reserve) == 200000);
	r.pos = (ring.head & ~(uint64_t)(SIZE - 1)) - SIZE;
	read_all(&r, ring.head);
	CHECK(!r.bad && r.events == 200000 && r.missed > 199000);
}

/*
 * No process overwrites what is not published: here a writer is interrupted for longer than the
 * buffer lasts.
 */
static void interrupted_for_long(void)
{
	struct reader r = { 0 };
	struct event *e;
	uint64_t good = 0;

	start(4, true, NULL);
	e = kring_enter(&ring, data, &geometry, 16);
	e->number = 77;
	for (int i = 0; i < 2000; i++)
		good += put(0);
	CHECK(good > 100 && good < 2000 && ring.lost == 2000 - good && !ring.head);
	e->more[0] = 77;
	kring_leave(&ring);
	read_all(&r, ring.head);
	CHECK(!r.bad && r.events == good + 1);
}

static volatile sig_atomic_t deep, expected;

/*
 * Once: on a slow machine, a signal each 50 us would interrupt the handler of the one before. A
 * handler asks for none at its end: that one would come before the handler returns, and so on until
 * there is no stack left. nested() asks for the next one.
 */
static void signal_soon(void)
{
	const struct itimerval once = { { 0, 0 }, { 0, 50 } };

	setitimer(ITIMER_REAL, &once, NULL);
}

static void interrupt(int signal)
{
	(void)signal;
	if (deep >= 2)          /* an NMI in an interrupt */
		return;
	if (!deep++)
		signal_soon();
	put((uint32_t)made % 5);
	if (deep == 1)
		raise(SIGALRM);
	put((uint32_t)made % 3);
	if (!--deep)
		expected = 0;
}

/* $1: overwriting; signals come at any instruction. */
static void nested(bool overwrite, uint64_t (*clock)(void))
{
	struct sigaction sa = { .sa_handler = interrupt, .sa_flags = SA_NODEFER };
	struct itimerval never = { { 0, 0 }, { 0, 0 } };
	struct reader r = { .seen = calloc(1, 40000000) };
	struct timespec from, now;
	uint64_t mine = 0;

	start(64, overwrite, clock);
	sigaction(SIGALRM, &sa, NULL);
	expected = 0;
	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		if (!expected) {
			expected = 1;
			signal_soon();
		}
		for (int i = 0; i < 500; i++)
			mine += put((uint32_t)i % 7);
		if (!overwrite) {
			/* head may move while this continues: what is below is final */
			read_all(&r, __atomic_load_n(&ring.head, __ATOMIC_ACQUIRE));
			__atomic_store_n(&ring.consumed, r.pos, __ATOMIC_RELEASE);
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - from.tv_sec < 2 && made < 30000000 && !r.bad);
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_IGN);
	CHECK(ring.head == kring_position(ring.reserve) && !ring.nest);
	CHECK(made > mine);     /* signals did come */
	if (overwrite)
		r.pos = (ring.head & ~(uint64_t)(SIZE - 1)) - 62 * SIZE;
	read_all(&r, ring.head);
	CHECK(!r.bad);
	CHECK(r.events == made);
	CHECK(kring_events(ring.events, ring.reserve) == made);
	if (!overwrite)
		CHECK(!r.missed);
	free(r.seen);
}

static void nested_discard(void) { nested(false, NULL); }
static void nested_overwrite(void) { nested(true, NULL); }
static void nested_unsteady(void) { nested(false, unsteady); }

int main(void)
{
	CASE(discard_counts);
	CASE(sizes);
	CASE(many_events);
	CASE(interrupted_for_long);
	CASE(nested_discard);
	CASE(nested_overwrite);
	CASE(nested_unsteady);
	free(data);
	return test_summary();
}
