/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stripes of a text that another thread formats: they are the bytes of the text, or there are none
 * if their events are overwritten meanwhile.
 */
#include "tests/lib/fake_cpus.h"
#include "tests/lib/fake_writers.h"
#include "tests/lib/test.h"
#include "tracer/view/divide.h"
#include "tracer/view/text_window.h"

#define READERS 20


/* Begins with the first stripe after the offset. False: there is none. */
static bool begin(struct text_stripes *t, struct session *s, uint64_t offset)
{
	struct text_engine *e = text_engine_of(s, TEXT_PLAIN);

	text_stripes_begin(t, e, s, offset, e->end, e->limit, e->generation);
	return t->count != 0;
}

static struct session *fill(enum trail_mode mode, uint64_t events, struct md_buf *all)
{
	struct session *s = fake_session(mode, 65536, 32);
	struct fake_threads t;

	fake_start(s, true);
	fake_threads_run(&t, s, 8, events);
	fake_text(s, all);
	CHECK(all->len > 10u << 20);
	return s;
}

/* Each stripe is that part of the text. */
static void bytes(void)
{
	struct md_buf all = MD_BUF_INIT;
	struct session *s = fill(TRAIL_MODE_DISCARD, 15000, &all);
	struct text_stripes t = { 0 };
	struct text_view *v;
	uint64_t at = 1, wrong = 0, count = 0;
	const char *p = NULL;

	CHECK(text_open(s, TEXT_PLAIN, &v) == 0);
	for (; begin(&t, s, at); at = t.ready->end + 1, count++) {
		uint64_t from = t.coming[0]->begin, size = t.coming[0]->end - from;

		CHECK(from >= at && size >= 1u << 20 && from + size <= all.len);
		wrong += text_stripes_find(&t, from - 1, &p) != 0;
		wrong += text_stripes_find(&t, from + 10, &p) != size - 10 ||
			 memcmp(p, all.data + from + 10, size - 10);
		wrong += text_stripes_find(&t, from, &p) != size ||
			 memcmp(p, all.data + from, size);
		wrong += text_stripes_find(&t, from + size, &p) != 0;
	}
	CHECK(count > 1 && wrong == 0);
	text_stripes_end(&t);
	text_close(v);
	md_buf_deinit(&all);
	fake_session_destroy(s);
}

/* Writers overwrite the events of a stripe while it is formatted: it is whole, or there is none. */
static void gaps(void)
{
	struct md_buf all = MD_BUF_INIT;
	struct session *s = fill(TRAIL_MODE_OVERWRITE, 15000, &all);
	struct text_stripes t = { 0 };
	struct text_view *v;
	struct fake_threads writers;
	uint64_t wrong = 0;
	const char *p = NULL;

	CHECK(text_open(s, TEXT_PLAIN, &v) == 0);
	fake_threads_start(&writers, s, 8, UINT64_MAX);
	for (int i = 0; i < 3000; i++) {
		uint64_t from, n;

		/* The text of these offsets is constant, also if there is more by now. */
		if (!begin(&t, s, 1 + (uint64_t)i % 3 * (1u << 20)) || t.coming[0]->end > all.len)
			break;
		from = t.coming[0]->begin;
		n = text_stripes_find(&t, from, &p);
		wrong += n && memcmp(p, all.data + from, n);
		text_stripes_end(&t);
	}
	fake_threads_wait(&writers, 250000);
	/* By now nothing of it is there. */
	if (begin(&t, s, 1) && t.coming[0]->end <= all.len)
		CHECK(text_stripes_find(&t, t.coming[0]->begin, &p) == 0 && t.failed);
	text_stripes_end(&t);
	CHECK(wrong == 0);
	fake_start(s, false);
	fake_threads_join(&writers);
	text_close(v);
	md_buf_deinit(&all);
	fake_session_destroy(s);
}

/* Some readers have stripes, not all, whatever their number; and a reader may end at any time. */
static void many(void)
{
	struct md_buf all = MD_BUF_INIT;
	struct session *s = fill(TRAIL_MODE_DISCARD, 15000, &all);
	struct text_stripes t[READERS] = { 0 };
	struct text_view *v;

	CHECK(text_open(s, TEXT_PLAIN, &v) == 0);
	for (int round = 0; round < 5; round++) {
		int count = 0;

		for (int i = 0; i < READERS; i++)
			count += begin(&t[i], s, 1);
		CHECK(count > 0 && count < READERS);
		for (int i = 0; i < READERS; i++)
			text_stripes_end(&t[i]);
	}
	text_close(v);
	md_buf_deinit(&all);
	fake_session_destroy(s);
}

/* On more CPUs, the reader finds all of the text from the first stripe on in stripes. */
static void several(void)
{
	struct md_buf all = MD_BUF_INIT;
	struct session *s = fill(TRAIL_MODE_DISCARD, 15000, &all);
	struct text_stripes t = { 0 }, other = { 0 };
	struct text_view *v;
	uint64_t at, last, found = 0, wrong = 0;
	const char *p = NULL;
	size_t n, most = 0;

	cpus = 5;
	CHECK(text_open(s, TEXT_PLAIN, &v) == 0);
	CHECK(begin(&t, s, 1) && t.count == 4);
	for (size_t i = 1; i < t.count; i++)
		CHECK(t.coming[i]->begin == t.coming[i - 1]->end);
	CHECK(text_stripes_have(&t, t.coming[3]->begin) && !text_stripes_have(&t, 1));
	at = last = t.coming[0]->begin;
	while ((n = text_stripes_find(&t, at, &p))) {
		wrong += memcmp(p, all.data + at, n) != 0;
		at += n;
		found++;
		begin(&t, s, at);
		most = t.count > most ? t.count : most;
	}
	CHECK(found >= 4 && most == 4 && !wrong && at > all.len / 2);
	/* It does not read on: another reader has a stripe all the same. */
	CHECK(begin(&other, s, 1) && other.count == 1);
	text_stripes_end(&other);
	/* What was skipped is gone. */
	text_stripes_end(&t);
	CHECK(begin(&t, s, 1));
	last = t.coming[t.count - 1]->begin;
	n = text_stripes_find(&t, last, &p);
	CHECK(n && !memcmp(p, all.data + last, n) && !t.count);
	text_stripes_end(&t);
	text_close(v);
	cpus = 2;
	md_buf_deinit(&all);
	fake_session_destroy(s);
}

static void one_cpu(void)
{
	struct md_buf all = MD_BUF_INIT;
	struct session *s = fill(TRAIL_MODE_DISCARD, 15000, &all);
	struct text_stripes t = { 0 };
	struct text_view *v;

	cpus = 1;
	CHECK(text_open(s, TEXT_PLAIN, &v) == 0);
	CHECK(!begin(&t, s, 1));
	text_close(v);
	md_buf_deinit(&all);
	fake_session_destroy(s);
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	CASE(bytes);
	CASE(gaps);
	CASE(many);
	CASE(several);
	CASE(one_cpu);
	return test_summary();
}
