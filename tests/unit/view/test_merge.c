/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Merging against a naive reference: collect all events, sort them stably by (time, place of the
 * stream).
 */
#include "tests/lib/fake_writers.h"
#include "tests/lib/test.h"
#include "tracer/view/merge.h"

struct item {
	uint64_t ts, n;
	size_t rank, seq;
};

static int compare(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->seq < y->seq ? -1 : 1;
}

static uint64_t number(const struct cursor *c)
{
	uint64_t n;

	memcpy(&n, c->o.payload, 8);
	return n;
}

static size_t reference(const struct session *s, struct item *items)
{
	size_t n = 0;

	for (size_t i = 0; i < s->set.count; i++) {
		struct cursor *c =
			cursor_create(&s->set.streams[i], cursor_oldest(&s->set.streams[i]), 4096);

		cursor_mark(c, false);
		for (; cursor_next(c); n++)
			items[n] = (struct item){ c->o.ts, number(c), i, n };
		cursor_destroy(c);
	}
	qsort(items, n, sizeof(*items), compare);
	return n;
}

static size_t rank_of(const struct session *s, const struct cursor *c)
{
	size_t i = 0;

	while (s->set.streams[i].region != c->stream.region ||
	       s->set.streams[i].ring != c->stream.ring)
		i++;
	return i;
}

static void order(void)
{
	struct session *s = fake_session(TRAIL_MODE_OVERWRITE, 16384, 8);
	struct item *items = calloc(200000, sizeof(*items));
	struct merge_place places[8];
	struct fake_writer w[8];
	struct merge *m = merge_create(), *again = NULL;
	uint64_t now, ties = 0;
	size_t n, at = 0;
	struct cursor *c;

	fake_start(s, true);
	for (size_t i = 0; i < 8; i++)
		fake_writer_init(&w[i], s, i);
	for (size_t i = 0; i < 64000; i++)
		fake_write(&w[i % 8]);
	fake_start(s, false);
	n = reference(s, items);
	CHECK(n > 8000);
	CHECK(merge_look_session(m, s, &now) == 0);
	for (; (c = merge_top(m, now)); merge_next(m), at++) {
		CHECK(at < n && c->o.ts == items[at].ts && number(c) == items[at].n &&
		      rank_of(s, c) == items[at].rank);
		ties += at && items[at - 1].ts == items[at].ts &&
			items[at - 1].rank != items[at].rank;
		if (at == n / 2)
			merge_places(m, places);
	}
	CHECK(at == n && ties > 10);
	CHECK(merge_missed(m) == 0);
	/* From the middle. */
	again = merge_create_at(places, 8, &s->set);
	CHECK(merge_look(again, &s->set, &s->clock) == 0);
	for (at = n / 2; (c = merge_top(again, now)); merge_next(again), at++)
		CHECK(at < n && c->o.ts == items[at].ts && number(c) == items[at].n);
	CHECK(at == n && merge_missed(again) == 0);
	merge_destroy(m);
	merge_destroy(again);
	merge_destroy(NULL);
	free(items);
	fake_session_destroy(s);
}

/* Looks while writers run and streams come: the order of all looks together is the final order. */
static void looks(void)
{
	struct session *s = fake_session(TRAIL_MODE_DISCARD, 65536, 16);
	struct item *items = calloc(400000, sizeof(*items)), *seen = calloc(400000, sizeof(*seen));
	struct merge *m = merge_create();
	struct fake_threads t;
	size_t n, count = 0, wrong = 0;
	struct cursor *c;
	uint64_t now;

	s->visible = 2;
	fake_start(s, true);
	fake_threads_start(&t, s, 2, UINT64_MAX);
	for (int i = 0; i < 300; i++) {
		if (i == 50 || i == 100) {
			s->visible = i == 50 ? 7 : 8;
			fake_threads_more(&t, s->visible);
		}
		if (i == 299) {
			fake_threads_wait(&t, 2000);
			fake_start(s, false);
			fake_threads_join(&t);
		}
		CHECK(merge_look_session(m, s, &now) == 0);
		for (; (c = merge_top(m, now)) && count < 400000; merge_next(m), count++)
			seen[count] = (struct item){ c->o.ts, number(c), rank_of(s, c), count };
		if (i % 10 == 0)
			merge_release(m);
		usleep(100);
	}
	n = reference(s, items);
	CHECK(n == count && n > 1000);
	for (size_t i = 0; i < n && i < count; i++)
		wrong += items[i].ts != seen[i].ts || items[i].n != seen[i].n ||
			 items[i].rank != seen[i].rank;
	CHECK(wrong == 0);
	merge_destroy(m);
	free(items);
	free(seen);
	fake_session_destroy(s);
}

/* A stream that leaves the session is read to its mark, then dropped. */
static void leaving(void)
{
	struct session *s = fake_session(TRAIL_MODE_DISCARD, 65536, 16);
	struct merge *m = merge_create();
	struct fake_threads t;
	uint64_t now, n = 0;

	fake_start(s, true);
	fake_threads_run(&t, s, 8, 100);
	CHECK(merge_look_session(m, s, &now) == 0);
	s->visible = 3;
	CHECK(merge_look_session(m, s, &now) == 0);
	CHECK(m->dropped && m->count == 8);
	for (; merge_top(m, now); merge_next(m))
		n++;
	CHECK(n == 800);
	CHECK(merge_look_session(m, s, &now) == 0);
	CHECK(m->count == 3);
	merge_destroy(m);
	fake_session_destroy(s);
}

int main(void)
{
	CASE(order);
	CASE(looks);
	CASE(leaving);
	return test_summary();
}
