/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What begins and ends make on one track: slices in slices, ends without a begin, begins without an
 * end, system calls, begins that are dropped, and too many of them; and how long slices lasted.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/lib/test.h"
#include "tracer/view/slice/slice.h"
#include "tracer/view/slice/times.h"

static const struct md_occurrence none;
static const struct slice_class begin_a = { .side = SLICE_BEGIN, .pair = 1, .leaves_calls = true };
static const struct slice_class end_a = { .side = SLICE_END, .pair = 1 };
static const struct slice_class begin_b = { .side = SLICE_BEGIN, .pair = 2, .leaves_calls = true };
static const struct slice_class end_b = { .side = SLICE_END, .pair = 2 };
static const struct slice_class enter = { .side = SLICE_BEGIN, .pair = 3, .is_call = true,
					  .leaves_calls = true };
static const struct slice_class leave = { .side = SLICE_END, .pair = 3, .is_call = true };
static const struct slice_class sigreturn = { .is_call = true, .leaves_calls = true };
static const struct slice_class other = { 0 };

static struct {
	uint32_t count;
	uint64_t begin[64], time[64];
} cut;

static void note(void *arg, struct slice_track *t, uint64_t time)
{
	CHECK(arg == &cut);
	if (cut.count < 64) {
		cut.begin[cut.count] = t->open[t->depth - 1].begin;
		cut.time[cut.count] = time;
	}
	cut.count++;
}

static struct slice_track *start(struct slices *v, uint64_t since)
{
	memset(&cut, 0, sizeof(cut));
	*v = (struct slices){ .track_size = sizeof(struct slice_track), .since = since,
			      .unended = note, .arg = &cut };
	return slices_find(v, 100);
}

/* Of the stream that has the next events; NULL: it is not known. */
static struct outage *outage;

/* Takes the event; a slice that ends began at `begin`. */
static void take(struct slices *v, struct slice_track *t, const struct slice_class *k,
		 uint64_t time, enum slice_side side, uint64_t begin)
{
	CHECK(slices_take(v, t, k, &none, time, outage) == side);
	if (side == SLICE_END)
		CHECK(t->open[t->depth].begin == begin);
}

static void nests(void)
{
	struct slices v;
	struct slice_track *t = start(&v, 0);

	take(&v, t, &begin_a, 10, SLICE_BEGIN, 0);
	take(&v, t, &begin_b, 20, SLICE_BEGIN, 0);
	CHECK(t->depth == 2);
	take(&v, t, &other, 25, SLICE_NONE, 0);
	take(&v, t, &end_b, 30, SLICE_END, 20);
	take(&v, t, &end_a, 40, SLICE_END, 10);
	CHECK(t->depth == 0 && cut.count == 0);
	/* An end without a begin is an instant, and changes nothing. */
	take(&v, t, &end_a, 50, SLICE_NONE, 0);
	/* Of slices of one name in each other, the innermost ends. */
	take(&v, t, &begin_a, 60, SLICE_BEGIN, 0);
	take(&v, t, &begin_a, 70, SLICE_BEGIN, 0);
	take(&v, t, &end_a, 80, SLICE_END, 70);
	take(&v, t, &end_a, 90, SLICE_END, 60);
	slices_deinit(&v);
}

static void cuts(void)
{
	struct slices v;
	struct slice_track *t = start(&v, 0);

	take(&v, t, &begin_a, 10, SLICE_BEGIN, 0);
	take(&v, t, &begin_b, 20, SLICE_BEGIN, 0);
	/* b has no end: it is cut when what is around it ends. */
	take(&v, t, &end_a, 30, SLICE_END, 10);
	CHECK(cut.count == 1 && cut.begin[0] == 20 && cut.time[0] == 30);
	take(&v, t, &end_b, 40, SLICE_NONE, 0);
	take(&v, t, &begin_b, 50, SLICE_BEGIN, 0);
	slices_finish(&v, 60);
	CHECK(cut.count == 2 && cut.begin[1] == 50 && cut.time[1] == 60 && t->depth == 0);
	slices_deinit(&v);
}

/* A hundred signals: each handler ends with a call that does not return. */
static void calls(void)
{
	struct slices v;
	struct slice_track *t = start(&v, 0);
	uint32_t most = 0;

	for (uint64_t i = 0; i < 100; i++) {
		take(&v, t, &enter, 10 * i + 1, SLICE_BEGIN, 0);
		most = t->depth > most ? t->depth : most;
		take(&v, t, &sigreturn, 10 * i + 5, SLICE_NONE, 0);
		CHECK(t->depth == 0);
	}
	CHECK(most == 1 && cut.count == 100 && cut.time[0] == 5);
	take(&v, t, &leave, 2000, SLICE_NONE, 0);
	/* An entry closes an open call, and a begin of the program, too. */
	take(&v, t, &enter, 2010, SLICE_BEGIN, 0);
	take(&v, t, &enter, 2020, SLICE_BEGIN, 0);
	take(&v, t, &leave, 2030, SLICE_END, 2020);
	take(&v, t, &enter, 2040, SLICE_BEGIN, 0);
	take(&v, t, &begin_a, 2050, SLICE_BEGIN, 0);
	CHECK(t->depth == 1 && cut.count == 102);
	/* Without a thread there are no calls. */
	t = slices_find(&v, SLICE_CPUS);
	take(&v, t, &enter, 2060, SLICE_NONE, 0);
	CHECK(t->depth == 0);
	slices_deinit(&v);
}

/* A begin that is older than the youngest ring: a second run knows that it has no end. */
static void drops(void)
{
	struct slices v;
	struct slice_track *t = start(&v, 100);

	for (int run = 0; run < 2; run++) {
		take(&v, t, &begin_a, 10, run ? SLICE_NONE : SLICE_BEGIN, 0);
		take(&v, t, &begin_b, 20, SLICE_BEGIN, 0);
		take(&v, t, &end_b, 110, SLICE_END, 20);
		take(&v, t, &begin_b, 120, SLICE_BEGIN, 0);
		slices_finish(&v, 130);
		CHECK(v.dropped.overwritten == 1 && v.dropped.tracked == 0);
		if (run)
			break;
		slices_replay(&v);
		memset(&cut, 0, sizeof(cut));
		v.track_size = sizeof(struct slice_track);
		v.unended = note;
		v.arg = &cut;
		t = slices_find(&v, 100);
	}
	CHECK(cut.count == 1 && cut.begin[0] == 120);
	slices_deinit(&v);
}

/*
 * A begin that a program forgets to end. A second run cuts it where the next one of its pair
 * begins, or where what is in it ends; recursion has its ends in both runs.
 */
static void forgets(void)
{
	struct slices v;
	struct slice_track *t = start(&v, 0);

	for (int run = 0; run < 2; run++) {
		if (run) {
			slices_replay(&v);
			memset(&cut, 0, sizeof(cut));
			v.track_size = sizeof(struct slice_track);
			v.unended = note;
			v.arg = &cut;
			t = slices_find(&v, 100);
		}
		take(&v, t, &begin_a, 10, SLICE_BEGIN, 0);      /* forgotten */
		take(&v, t, &begin_a, 20, SLICE_BEGIN, 0);
		CHECK(t->depth == (run ? 1 : 2));
		take(&v, t, &end_a, 30, SLICE_END, 20);
		take(&v, t, &begin_a, 40, SLICE_BEGIN, 0);      /* recursion */
		take(&v, t, &begin_a, 50, SLICE_BEGIN, 0);
		take(&v, t, &end_a, 60, SLICE_END, 50);
		take(&v, t, &end_a, 70, SLICE_END, 40);
		take(&v, t, &begin_a, 80, SLICE_BEGIN, 0);      /* forgotten, with b in it */
		take(&v, t, &begin_b, 90, SLICE_BEGIN, 0);
		take(&v, t, &begin_a, 100, SLICE_BEGIN, 0);
		take(&v, t, &end_a, 110, SLICE_END, 100);
		take(&v, t, &end_b, 120, SLICE_END, 90);
		take(&v, t, &other, 130, SLICE_NONE, 0);
		CHECK(t->depth == (run ? 0 : 2));
		take(&v, t, &begin_a, 140, SLICE_BEGIN, 0);     /* the last one: open to the end */
		slices_finish(&v, 150);
		CHECK(v.dropped.overwritten == 0);
	}
	CHECK(cut.count == 3);
	CHECK(cut.begin[0] == 10 && cut.time[0] == 20);
	CHECK(cut.begin[1] == 80 && cut.time[1] == 130);
	CHECK(cut.begin[2] == 140 && cut.time[2] == 150);
	slices_deinit(&v);
}

/* More forgotten begins than a track has room for: the slices after them are still found. */
static void forgets_many(void)
{
	struct slices v;
	struct slice_track *t = start(&v, 0);

	v.unended = NULL;
	for (int run = 0; run < 2; run++) {
		for (uint64_t i = 0; i < 3 * SLICE_DEPTH; i++) {
			take(&v, t, &begin_a, 100 * i + 1, SLICE_BEGIN, 0);
			take(&v, t, &begin_b, 100 * i + 2, SLICE_BEGIN, 0);
			take(&v, t, &end_b, 100 * i + 3, SLICE_END, 100 * i + 2);
			CHECK(!run || t->depth == 1);
		}
		CHECK(t->over == 0);
		slices_finish(&v, UINT32_MAX);
		if (run)
			break;
		slices_replay(&v);
		memset(&cut, 0, sizeof(cut));
		v.track_size = sizeof(struct slice_track);
		v.unended = note;
		v.arg = &cut;
		t = slices_find(&v, 100);
	}
	CHECK(cut.count == 3 * SLICE_DEPTH);
	slices_deinit(&v);
}

/* An event of the request of device 8 with this sector, on the track that it gets. */
static enum slice_side request(struct slices *v, enum slice_side side, uint32_t sector,
			       uint64_t time, struct slice_track **t)
{
	static const struct md_type word = { .kind = MD_INT };
	uint32_t payload[2] = { 8, sector };
	const struct md_occurrence o = { .payload = (const uint8_t *)payload,
					 .end = (const uint8_t *)(payload + 2) };
	const struct slice_class k = { .side = side, .is_request = true, .pair = 4,
				       .dev = { .type = &word, .quick = true },
				       .sector = { .type = &word, .quick = true, .at = 4 } };

	*t = slices_track(v, &k, &o, 0, 100, time);
	return slices_take(v, *t, &k, &o, time, NULL);
}

/*
 * Where threads are left out, each request without an end is dropped, however many they are: it is
 * an instant of its thread in the second run, and leaves its track to the requests that have ends.
 */
static void tracks_requests(void)
{
	const uint32_t many = SLICE_REQUESTS + 44;
	struct slices v;
	struct slice_track *t;

	start(&v, 0);
	v.tracked = true;
	for (int run = 0; run < 2; run++) {
		for (uint32_t i = 0; i < many; i++) {
			CHECK(request(&v, SLICE_BEGIN, i, 10 + i, &t) ==
			      (run ? SLICE_NONE : SLICE_BEGIN));
			CHECK((t->tid >= SLICE_DISKS) == !run);
		}
		CHECK(request(&v, SLICE_BEGIN, 1000, 1000, &t) == SLICE_BEGIN);
		CHECK(!run || t->tid == SLICE_DISKS);
		CHECK(request(&v, SLICE_END, 1000, 1010, &t) == SLICE_END);
		CHECK(t->open[t->depth].begin == 1000);
		CHECK(request(&v, SLICE_END, 5000, 1020, &t) == SLICE_NONE && t->tid == 100);
		slices_finish(&v, 2000);
		CHECK(v.dropped.tracked == many && v.dropped.overwritten == 0);
		if (run)
			break;
		slices_replay(&v);
		memset(&cut, 0, sizeof(cut));
		v.track_size = sizeof(struct slice_track);
		v.unended = note;
		v.arg = &cut;
	}
	CHECK(cut.count == 0);
	slices_deinit(&v);
}

/* More than SLICE_DEPTH: what has no room has no end, and the ends that follow are not mistaken. */
static void is_deep(void)
{
	struct slices v;
	struct slice_track *t = start(&v, 0);
	uint64_t time = 1;

	for (uint32_t i = 0; i < SLICE_DEPTH; i++)
		take(&v, t, &begin_a, time++, SLICE_BEGIN, 0);
	for (int i = 0; i < 3; i++)
		take(&v, t, &begin_a, time++, SLICE_NONE, 0);
	for (int i = 0; i < 3; i++)
		take(&v, t, &end_a, time++, SLICE_NONE, 0);
	for (uint32_t i = SLICE_DEPTH; i--;)
		take(&v, t, &end_a, time++, SLICE_END, i + 1);
	CHECK(t->depth == 0 && cut.count == 0);
	slices_deinit(&v);
}

/*
 * Losses of the stream of a begin or of its end, between them: they are no slice. Neither are they
 * if losses of another stream of the class began or ended between them. Losses before and after,
 * and those of other classes, change nothing.
 */
static void interrupts(void)
{
	const struct md_stream *class = (const struct md_stream *)&none;
	struct slices v;
	struct slice_track *t = start(&v, 0);
	struct outage *here = outages_of(&v.outages, class, 0),
		      *there = outages_of(&v.outages, class, 1),
		      *other_class = outages_of(&v.outages, NULL, 0);

	CHECK(here && there && here != there && outages_of(&v.outages, class, 0) == here);
	outage = here;
	take(&v, t, &begin_a, 10, SLICE_BEGIN, 0);
	take(&v, t, &begin_b, 20, SLICE_BEGIN, 0);
	outages_begin(&v.outages, here);
	outages_end(&v.outages, here);
	/* What began after the losses is a slice. What is around it is none. */
	take(&v, t, &begin_a, 30, SLICE_BEGIN, 0);
	outages_begin(&v.outages, other_class);
	take(&v, t, &end_a, 40, SLICE_END, 30);
	take(&v, t, &end_a, 50, SLICE_NONE, 0);
	take(&v, t, &end_b, 60, SLICE_NONE, 0);
	CHECK(t->depth == 0 && v.interrupted == 1);
	/* The other stream has losses: from now on, which is in a slice, and throughout another. */
	take(&v, t, &begin_a, 61, SLICE_BEGIN, 0);
	outages_begin(&v.outages, there);
	take(&v, t, &end_a, 62, SLICE_NONE, 0);
	take(&v, t, &begin_a, 63, SLICE_BEGIN, 0);
	outages_begin(&v.outages, there);
	take(&v, t, &end_a, 64, SLICE_END, 63);
	CHECK(v.interrupted == 2);
	/* An end in the other stream, which has losses that have not ended; and a begin. */
	take(&v, t, &begin_a, 70, SLICE_BEGIN, 0);
	outage = there;
	take(&v, t, &end_a, 80, SLICE_NONE, 0);
	take(&v, t, &begin_a, 90, SLICE_BEGIN, 0);
	outage = here;
	take(&v, t, &end_a, 100, SLICE_NONE, 0);
	CHECK(v.interrupted == 4);
	outages_end(&v.outages, there);
	outage = there;
	take(&v, t, &begin_a, 110, SLICE_BEGIN, 0);
	take(&v, t, &end_a, 120, SLICE_END, 110);
	slices_finish(&v, 130);
	CHECK(cut.count == 5 && cut.begin[0] == 20 && cut.time[0] == 50);
	CHECK(cut.begin[1] == 10 && cut.time[1] == 50);
	slices_replay(&v);
	CHECK(!here->changed && !other_class->open && v.outages.now == 0);
	outage = NULL;
	slices_deinit(&v);
}

static void measures(void)
{
	struct slice_times t = { 0 };
	uint64_t *histogram = calloc(TIMES_INTERVALS, sizeof(*histogram)), last = 0, p;

	CHECK(times_percentile(&t, NULL, 500) == 0);
	for (uint64_t ns = 1; ns <= 100000; ns += 7) {
		times_add(&t, ns);
		CHECK(times_interval(ns) < TIMES_INTERVALS && times_interval(ns) >= last);
		last = times_interval(ns);
		histogram[last]++;
	}
	CHECK(t.count == 14286 && t.max == 99996 && t.total == 714278571);
	for (unsigned int permille = 1; permille <= 1000; permille++) {
		uint64_t exact = 1 + 7 * ((t.count * permille + 999) / 1000 - 1);

		p = times_percentile(&t, histogram, permille);
		CHECK(p >= exact && p <= exact + exact / 32 + 1);
	}
	CHECK(times_percentile(&t, histogram, 1000) == t.max);
	CHECK(times_interval(UINT64_MAX) == TIMES_INTERVALS - 1);
	times_add(&t, UINT64_MAX);
	CHECK(t.total == UINT64_MAX && t.max == UINT64_MAX);
	free(histogram);
}

int main(void)
{
	CASE(nests);
	CASE(cuts);
	CASE(calls);
	CASE(drops);
	CASE(forgets);
	CASE(forgets_many);
	CASE(tracks_requests);
	CASE(is_deep);
	CASE(interrupts);
	CASE(measures);
	return test_summary();
}
