/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counters of discarded events lie in memory that applications write. Whatever they store
 * there, sums over rings and over the regions of a stream never begin anew.
 */
#include "tests/lib/fake_writers.h"
#include "tests/lib/test.h"
#include "tracer/base/ring/packetizer.h"

/*
 * All rings of the session claim the most that can be claimed. That cannot be true, and counts as
 * nothing; sums of what is believed end at the largest number.
 */
static void sum_of_rings(void)
{
	struct session *s = fake_session(TRAIL_MODE_DISCARD, 4096, 4);
	struct ring_counts sum = { 0 };
	struct fake_threads t;

	fake_start(s, true);
	fake_threads_run(&t, s, 8, 10);
	CHECK(s->set.count >= 5);
	for (size_t i = 0; i < s->set.count; i++) {
		const struct stream *st = &s->set.streams[i];
		struct ring_counts c, most = { .discarded = UINT64_MAX / 4 };
		uint64_t before = sum.discarded;

		__atomic_store_n(&region_ring(st->region, st->ring)->lost, UINT64_MAX,
				 __ATOMIC_RELAXED);
		ring_counts(st, &c);
		CHECK(c.discarded == 0);
		CHECK(ring_spoiled(st));
		ring_counts_add(&sum, &most);
		CHECK(sum.discarded >= before && sum.discarded >= most.discarded);
	}
	CHECK(sum.discarded == UINT64_MAX);
	fake_session_destroy(s);
}

/* A stream that was continued in other regions, which claimed the most before. */
static void sum_of_regions(void)
{
	struct session *s = fake_session(TRAIL_MODE_DISCARD, 4096, 4);
	struct packetizer p = { .max_ts = UINT64_MAX,
				.at = { .lost_before = UINT64_MAX - 10, .lost = UINT64_MAX - 10 } };
	struct fake_threads t;
	struct packet packet;

	fake_start(s, true);
	fake_threads_run(&t, s, 1, 10);
	p.stream = &s->set.streams[0];
	__atomic_store_n(&region_ring(p.stream->region, p.stream->ring)->lost, 100,
			 __ATOMIC_RELAXED);
	ring_mark(p.stream, &p.mark);
	CHECK(packetizer_trail(&p, &packet));
	CHECK(packet.header.events_discarded == UINT64_MAX);
	fake_session_destroy(s);
}

int main(void)
{
	CASE(sum_of_rings);
	CASE(sum_of_regions);
	return test_summary();
}
