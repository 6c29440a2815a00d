/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Marks, counts and cursors: every event once, in order, or counted; also while the writer runs,
 * and from checkpoints.
 */
#include "tests/lib/fake_writers.h"
#include "tests/lib/test.h"
#include "tracer/view/cursor.h"

static uint64_t number(const struct cursor *c)
{
	uint64_t n;

	memcpy(&n, c->o.payload, 8);
	return n;
}

static void empty(void)
{
	struct session *s = fake_session(TRAIL_MODE_DISCARD, 4096, 2);
	struct cursor *c =
		cursor_create(&s->set.streams[0], cursor_oldest(&s->set.streams[0]), 4096);
	struct ring_counts n;
	struct ring_mark m;

	ring_mark(&s->set.streams[0], &m);
	CHECK(!m.head && !m.lost && !m.events);
	CHECK(ring_oldest(&s->set.streams[0], 0) == 0);
	ring_counts(&s->set.streams[0], &n);
	CHECK(!n.recorded && !n.discarded && !n.overwritten && !n.bytes);
	cursor_mark(c, false);
	CHECK(!cursor_next(c));
	cursor_destroy(c);
	cursor_destroy(NULL);
	fake_session_destroy(s);
}

/*
 * Reads by different chunk sizes and from places in between; `stop` events are read, then it goes
 * on at the place.
 */
static void all_held(void)
{
	static const size_t chunks[] = { 16, 100, 4096, 65536 };
	struct session *s = fake_session(TRAIL_MODE_DISCARD, 4096, 16);
	const struct stream *st = &s->set.streams[2];
	struct fake_writer w;
	struct ring_counts n;

	fake_start(s, true);
	fake_writer_init(&w, s, 2);
	while (fake_write(&w))
		;
	ring_counts(st, &n);
	CHECK(n.recorded == w.written && n.discarded == 1 && !n.overwritten);
	CHECK(n.bytes > 15 * 4000 && n.bytes <= 16 * 4096);
	for (size_t i = 0; i < 4; i++) {
		struct cursor *c = cursor_create(st, (struct ring_place){ 0 }, chunks[i]);
		uint64_t count = 0, wrong = 0, ts = 0;

		cursor_mark(c, false);
		cursor_limit(c, fake_now());
		while (cursor_next(c)) {
			wrong += number(c) != count || c->o.ts < ts;
			ts = c->o.ts;
			if (count % 97 == 5) {
				/* Once more, from a place. */
				struct cursor *copy =
					cursor_create(st, cursor_place(c), chunks[(i + 1) % 4]);

				copy->mark = c->mark;
				wrong += !cursor_next(copy) || number(copy) != count ||
					 copy->o.ts != ts;
				cursor_destroy(copy);
			}
			if (count % 101 == 3) {
				cursor_release(c);
				wrong += !cursor_next(c) || number(c) != count || c->o.ts != ts;
			}
			count++;
		}
		CHECK(wrong == 0 && count == w.written && c->missed == 0 && c->bad == 0);
		cursor_destroy(c);
	}
	fake_session_destroy(s);
}

static void wrapped(void)
{
	struct session *s = fake_session(TRAIL_MODE_OVERWRITE, 4096, 8);
	const struct stream *st = &s->set.streams[0];
	struct cursor *c = cursor_create(st, (struct ring_place){ 0 }, 4096), *late;
	uint64_t count = 0, first = 0, before = 0;
	struct fake_writer w;
	struct ring_counts n;
	struct ring_mark m;

	fake_start(s, true);
	fake_writer_init(&w, s, 0);
	for (int i = 0; i < 20000; i++)
		fake_write(&w);
	ring_counts(st, &n);
	ring_mark(st, &m);
	CHECK(n.recorded == 20000 && n.discarded == 0 && m.events == 20000);
	late = cursor_create(st, cursor_oldest(st), 4096);
	cursor_mark(c, false);
	cursor_mark(late, false);
	while (cursor_next(c)) {
		if (!count++)
			first = number(c);
		else
			CHECK(number(c) == before + 1);
		before = number(c);
	}
	CHECK(before == 19999 && count == n.recorded - n.overwritten && first == n.overwritten);
	CHECK(c->missed == m.head / 4096 - 8 && c->bad == 0);
	CHECK(cursor_next(late) && number(late) == first && late->missed == 0);
	/* A clear in the middle of a sub-buffer. */
	fake_clear(s);
	ring_counts(st, &n);
	CHECK(!n.recorded && !n.discarded && !n.overwritten && !n.bytes);
	for (int i = 0; i < 10; i++)
		fake_write(&w);
	ring_counts(st, &n);
	CHECK(n.recorded == 10 && !n.overwritten);
	cursor_destroy(late);
	late = cursor_create(st, cursor_oldest(st), 4096);
	cursor_mark(late, false);
	for (count = 0; cursor_next(late); count++)
		CHECK(number(late) == 20000 + count);
	CHECK(count == 10 && late->missed == 0);
	cursor_destroy(c);
	cursor_destroy(late);
	fake_session_destroy(s);
}

/*
 * Beside a writer: marks agree with themselves; what is read is whole and in order; nothing is
 * missed unsaid.
 */
static void beside(enum trail_mode mode)
{
	struct session *s = fake_session(mode, 4096, 8);
	const struct stream *st = &s->set.streams[0];
	struct cursor *c = cursor_create(st, (struct ring_place){ 0 }, 1024);
	uint64_t next = 0, read = 0, wrong = 0, gaps = 0, missed = 0, uncounted = 0;
	struct ring_mark m, before = { 0 };
	struct fake_threads t;
	struct ring_counts n;

	fake_start(s, true);
	fake_threads_start(&t, s, 1, UINT64_MAX);
	for (int i = 0; i < 3000; i++) {
		cursor_mark(c, false);
		ring_mark(st, &m);
		wrong += m.head < before.head || m.last_ts < before.last_ts || m.lost < before.lost;
		uncounted += m.events < before.events;
		before = m;
		cursor_limit(c, fake_now());
		while (cursor_next(c)) {
			if (number(c) != next && mode == TRAIL_MODE_OVERWRITE) {
				wrong += number(c) < next || c->missed == missed;
				gaps++;
			}
			wrong += number(c) < next;
			missed = c->missed;
			next = number(c) + 1;
			read++;
		}
		if (i % 100 == 0)
			usleep(5000);
	}
	fake_start(s, false);
	fake_threads_join(&t);
	cursor_mark(c, false);
	cursor_limit(c, fake_now());
	while (cursor_next(c))
		read++;
	ring_counts(st, &n);
	CHECK(wrong == 0);
#ifndef __SANITIZE_THREAD__      /* there the writer's tally is not one store */
	CHECK(uncounted == 0);
#endif
	CHECK(c->bad == 0);
	CHECK(n.recorded == fake_writers[0].written && n.discarded == fake_writers[0].lost);
	if (mode == TRAIL_MODE_DISCARD)
		CHECK(read == n.recorded);
	else
		CHECK(read <= n.recorded && gaps <= c->missed);
	cursor_destroy(c);
	fake_session_destroy(s);
}

static void beside_discard(void)
{
	beside(TRAIL_MODE_DISCARD);
}

static void beside_overwrite(void)
{
	beside(TRAIL_MODE_OVERWRITE);
}

/* Garbage in the data: given up at that place, the other sub-buffers are read. */
static void spoiled(void)
{
	struct session *s = fake_session(TRAIL_MODE_DISCARD, 4096, 8);
	const struct stream *st = &s->set.streams[0];
	uint64_t count = 0, in_third = 0;
	struct fake_writer w;
	struct cursor *c;

	fake_start(s, true);
	fake_writer_init(&w, s, 0);
	for (int i = 0; i < 5000; i++)
		fake_write(&w);
	memset((uint8_t *)region_data(st->region, 0) + 3 * 4096, 0xfe, 4096);
	c = cursor_create(st, (struct ring_place){ 0 }, 65536);
	cursor_mark(c, false);
	cursor_limit(c, fake_now());
	while (cursor_next(c)) {
		in_third += c->buf_pos / 4096 == 3;
		count++;
	}
	CHECK(c->bad == 1 && in_third == 0 && count > w.written * 3 / 4 && count < w.written);
	cursor_destroy(c);
	fake_session_destroy(s);
}

int main(void)
{
	CASE(empty);
	CASE(all_held);
	CASE(wrapped);
	CASE(beside_discard);
	CASE(beside_overwrite);
	CASE(spoiled);
	return test_summary();
}
