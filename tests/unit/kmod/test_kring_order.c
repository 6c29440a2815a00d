/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The order of memory accesses to trail.ko's rings on processors that keep less order than x86:
 * the module's writer (kmod/ringcore.h, as it is compiled for these) and the daemon's reader
 * (tracer/kernel/backend/kring_reader.c), with the memory of tests/lib/weak_memory.h. Rings
 * overwrite. An event may be inside of another one, as that of an interrupt is.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/test.h"
#include "tests/lib/weak_memory.h"

enum { SUBBUF = 128, EVENTS = 40, RUNS = 200000, DATA = 256 };

#undef __x86_64__
#include "kmod/ringcore.h"
#define kring_choose_sizes model_choose_sizes
#define kring_reader_begin model_reader_begin
#define kring_drain model_drain
#define kring_lost model_lost
#include "tracer/kernel/backend/kring_reader.c"
#undef memcpy

/* ---- the writer ---- */

static struct kring *const ring = (struct kring *)memory;
static uint64_t made;
static uint64_t events_before[32];      /* each sub-buffer */
static struct kring_geometry geometry;
static bool nests;

static __u64 next_time(void)
{
	static __u64 now;

	return ++now;
}

/* An event's words are all its number. */
static void put(unsigned int words, bool interrupted)
{
	uint64_t number = made++, *to = kring_enter(ring, memory + DATA, &geometry, words * 8);

	CHECK(to);
	if (!to)
		return;
	/* The first event of a sub-buffer is behind its beginning. */
	if (((uint8_t *)to - memory - DATA) % SUBBUF ==
	    sizeof(struct krec_begin) + sizeof(struct krec))
		events_before[(kring_position(ring->reserve) - 1) / SUBBUF] = number;
	if (interrupted)
		put(1, false);
	for (unsigned int i = 0; i < words; i++)
		to[i] = number;
	kring_leave(ring);
}

/* Sizes differ, so that some sub-buffers have one event, and some have a rest. */
static void write_all(uint64_t subbufs)
{
	made = 0;
	geometry = (struct kring_geometry){
		.size = SUBBUF, .total = subbufs * SUBBUF, .overwrite = 1,
	};
	begin_writer();
	while (made < EVENTS) {
		geometry.clock = made % 8 < 4 ? next_time : NULL;
		put(made % 5 == 3 ? 10 : 1 + made % 3, nests && made % 7 == 2);
	}
	note_plain();
	CHECK(!ring->lost && !ring->nest);
}

/* ---- the reader ---- */

static uint8_t copy[SUBBUF];
static struct kring_reader at;
static uint64_t next_number, missed;
static unsigned int taken, overwritten;
static bool bad;

/* The reader counts what is before it: that is an event's number. */
static void record(void *arg, uint64_t time, const uint8_t *bytes, size_t len)
{
	uint64_t number;

	(void)arg;
	(void)time;
	for (size_t i = 0; i + 8 <= len; i += 8) {
		memcpy(&number, bytes + i, 8);
		bad = bad || number != at.events;
	}
	bad = bad || at.events != next_number;
	next_number++;
	taken++;
}

static void miss(void *arg, uint64_t events)
{
	(void)arg;
	next_number += events;
	overwritten++;
	missed += events;
}

static int released(void *arg, const struct kring_reader *p)
{
	(void)arg;
	bad = bad || p != &at;
	return 0;
}

/*
 * The events below the first sub-buffer that is not claimed, as the reader's last load of reserve
 * says, if it has not read that far
 */
static uint64_t events_gone(void)
{
	uint64_t claimed = kring_position(place_of(&ring->reserve)->last),
		 k = (claimed + SUBBUF - 1) / SUBBUF, count = geometry.total / SUBBUF;

	return k > count && at.pos < (k - count) * SUBBUF ? events_before[k - count] : at.events;
}

/* Reads as far as head was at some time, twice, then asks for losses. */
static bool read_once(void)
{
	const struct kring_shape shape = { SUBBUF, geometry.total, copy };
	const struct backend_sink sink = { .record = record, .missed = miss };
	struct source_counts losses = { 0 };

	begin_reader();
	at = (struct kring_reader){ .ring = ring, .data = memory + DATA };
	next_number = missed = 0;
	bad = false;
	for (int i = 0; i < 2; i++)
		if (model_drain(&shape, &at, __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE), &sink,
				released, NULL))
			return false;
	model_lost(&shape, &at, &losses);
	/* (Inside of an event, claims may be so far ahead that the sub-buffer is not begun yet.) */
	return !bad && at.overwritten == missed &&
	       (nests || losses.overwritten - missed == events_gone() - at.events);
}

static void read_often(void)
{
	unsigned int wrong = 0;

	taken = overwritten = 0;
	for (int i = 0; i < RUNS; i++)
		wrong += !read_once();
	CHECK(wrong == 0);
	/* The choices were many. */
	CHECK(taken > 1000 && overwritten > 1000);
	printf("# %u records, %u times overwritten, %u runs with something else\n", taken,
	       overwritten, wrong);
}

static void each_record_is_whole(void)
{
	write_all(2);
	read_often();
}

static void with_interrupts(void)
{
	nests = true;
	write_all(4);
	read_often();
}

int main(void)
{
	CASE(each_record_is_whole);
	CASE(with_interrupts);
	return test_summary();
}
