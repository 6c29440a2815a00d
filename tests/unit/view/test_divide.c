/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events that several threads read at once, each of them a part of the time: the parts are as many
 * as there are CPUs for, they meet, and what is counted is what one thread counts.
 */
#include "tests/lib/fake_cpus.h"
#include "tests/lib/fake_writers.h"
#include "tests/lib/test.h"
#include "tracer/view/divide.h"
#include "tracer/view/text_index.h"

static struct session *fill(void)
{
	struct session *s = fake_session(TRAIL_MODE_DISCARD, 65536, 32);
	struct fake_threads t;

	fake_start(s, true);
	fake_threads_run(&t, s, 8, 15000);
	return s;
}

/*
 * Counts the text on a machine that seems to have so many CPUs. Returns its length; *text gets the
 * state after its last line, *bytes a digest of pieces of the text.
 */
static uint64_t count(struct session *s, int for_cpus, struct md_text *text, uint64_t *bytes)
{
	struct text_engine *e;
	struct text_view *v;
	char piece[256];
	uint64_t end;

	cpus = for_cpus;
	CHECK(text_open(s, TEXT_PLAIN, &v) == 0);
	e = text_engine_of(s, TEXT_PLAIN);
	end = e->end;
	*text = e->text;
	*bytes = 0;
	/* Pieces after each checkpoint are bytes of the text. */
	for (uint64_t at = 0; at < end; at += 1000003) {
		ssize_t n = text_read(v, at, piece, sizeof(piece));

		for (ssize_t i = 0; i < n; i++)
			*bytes = *bytes * 31 + (unsigned char)piece[i];
	}
	text_close(v);
	text_engine_reset(&e);
	return end;
}

static void same_text(void)
{
	struct session *s = fill();
	struct md_text text, other;
	uint64_t bytes, other_bytes, end = count(s, 1, &text, &bytes);

	CHECK(end > 10u << 20);
	for (int n = 2; n <= DIVISION_MOST + 2; n++) {
		CHECK(count(s, n, &other, &other_bytes) == end);
		CHECK(other_bytes == bytes);
		CHECK(other.any && other.last == text.last);
	}
	fake_session_destroy(s);
}

/* As many parts as CPUs, in the order of time; fewer for fewer bytes. */
static void parts(void)
{
	struct session *s = fill();
	struct merge *m = merge_create();
	struct division d;
	uint64_t now, left;

	CHECK(m && merge_look_session(m, s, &now) == 0);
	left = merge_left(m);
	for (int n = 1; n <= DIVISION_MOST + 2; n++) {
		cpus = n;
		merge_divide(m, 1000, true, &d);
		CHECK(d.count == (n < DIVISION_MOST ? (size_t)n : DIVISION_MOST));
		for (size_t i = 1; i < d.count; i++)
			CHECK(d.parts[i].from > d.parts[i - 1].from && d.parts[i].places);
		division_before(&d, d.count > 2 ? d.parts[2].from - 1 : UINT64_MAX);
		CHECK(d.count <= 2);
		division_cut(&d, 1);
		merge_divide(m, left / 2, true, &d);
		CHECK(d.count <= 3 && (n < 2 || d.count > 1));
		division_cut(&d, 1);
		merge_divide(m, 2 * left, true, &d);
		CHECK(d.count == 1);
	}
	merge_destroy(m);
	fake_session_destroy(s);
}

static void add_one(void *arg, size_t part)
{
	__atomic_add_fetch((int *)arg + part, 1, __ATOMIC_RELAXED);
}

static void each_once(void)
{
	int calls[DIVISION_MOST];

	for (size_t n = 1; n <= DIVISION_MOST; n++) {
		memset(calls, 0, sizeof(calls));
		division_run(n, add_one, calls);
		for (size_t i = 0; i < DIVISION_MOST; i++)
			CHECK(calls[i] == (i < n));
	}
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	CASE(each_once);
	CASE(parts);
	CASE(same_text);
	return test_summary();
}
