/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * The order of the ring's memory accesses on processors that keep less order than x86: the writer
 * of tracer/abi/ring_write.h and the reader of tracer/base/ring/reader.c, with the memory of
 * tests/lib/weak_memory.h.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "tests/lib/test.h"
#include "tests/lib/weak_memory.h"

enum { SUBBUF = 64, COUNT = 2, EVENTS = 11, RUNS = 300000 };

#include "tracer/abi/ring_write.h"
#define ring_mark model_ring_mark
#define ring_holds model_ring_holds
#define ring_piece model_ring_piece
#include "tracer/base/ring/reader.c"
#undef memcpy

/* ---- the writer, and what is true of each position of head ---- */

static struct { uint64_t head, events, last_ts; } commits_made[VALUES];
static unsigned int commit_count;
static uint64_t end_of[8];              /* of each sub-buffer */
static uint8_t bytes_of[8][SUBBUF];
static uint64_t now;
static const struct region_geometry geometry = {
	.subbuf_size = SUBBUF, .subbuf_count = COUNT, .ring_count = 1, .mode = TRAIL_MODE_OVERWRITE,
};
static struct region region = { .fd = -1, .map = memory, .size = sizeof(memory) };
static const struct stream stream = { .region = &region };

static uint64_t next_time(void *arg)
{
	(void)arg;
	return ++now;
}

static void write_all(void)
{
	struct ring_writer w = {
		.ring = (struct trail_ring *)memory, .data = memory + 1024, .subbuf_size = SUBBUF,
		.subbuf_count = COUNT, .mode = TRAIL_MODE_OVERWRITE, .clock = next_time,
	};
	uint8_t on = 1;

	region.geo = geometry;
	region.data_offset = 1024;
	/* The ring's tally and the word after it: most processors store both at once. */
#ifndef TRAIL_STORES_WORDS
	pair_at = 16;
#endif
	begin_writer();
	for (uint64_t i = 1; i <= EVENTS; i++) {
		uint64_t payload = i * 0x0101010101010101u, k;

		CHECK(ring_write(&w, &on, 1, 1, &payload, sizeof(payload)));
		note_plain();
		k = w.ring->head / SUBBUF;
		commits_made[commit_count].head = w.ring->head;
		commits_made[commit_count].events = i;
		commits_made[commit_count++].last_ts = w.ring->last_ts;
		end_of[k] = w.ring->head;
		memcpy(bytes_of[k], w.data + k % COUNT * SUBBUF, SUBBUF);
	}
	CHECK(w.ring->head / SUBBUF == 4);
}

/* ---- the reader ---- */

static unsigned int whole, stable, torn;

/* Reads a mark and its sub-buffer. False: something is not true of that moment. */
static bool read_once(void)
{
	struct ring_mark m;
	struct ring_piece p;
	uint8_t bytes[SUBBUF + 8];
	unsigned int c = 0;
	uint64_t k, n;

	begin_reader();
	model_ring_mark(&stream, &m);
	if (place_of(&((struct trail_ring *)memory)->head)->last != m.head)
		return true;            /* it gave up: head never stood still */
	stable++;
	k = m.head / SUBBUF;
	if (m.head == k * SUBBUF)
		return true;            /* before the first event of a sub-buffer */
	while (c < commit_count && commits_made[c].head != m.head)
		c++;
	if (c == commit_count || m.tally != commits_made[c].events)
		return false;
	/* last_ts may be that of an event which is not committed yet (G3). */
	if (m.last_ts < commits_made[c].last_ts ||
	    (c + 1 < commit_count && m.last_ts > commits_made[c + 1].last_ts))
		return false;
	/* The sub-buffer before it, if there is one: head has left it. */
	k -= k > 1 && (seed & 1 << 20);
	if (!model_ring_piece(&stream, &m, k, &p))
		return !model_ring_holds(&stream, k);
	n = p.end - p.begin;
	model_copy(bytes, memory + 1024 + k % COUNT * SUBBUF, (size_t)n);
	if (!model_ring_holds(&stream, k)) {
		torn++;
		return true;
	}
	whole++;
	if (k < m.head / SUBBUF && p.end != end_of[k])
		return false;
	return !memcmp(bytes, bytes_of[k], n);
}

static void each_read_is_of_one_moment(void)
{
	unsigned int bad = 0;

	write_all();
	for (int i = 0; i < RUNS; i++)
		bad += !read_once();
	CHECK(bad == 0);
	/* The choices were many. */
	CHECK(stable > RUNS / 4 && whole > 1000 && torn > 1000);
	printf("# %u marks, %u sub-buffers, %u overwritten, %u not of one moment\n", stable, whole,
	       torn, bad);
}

int main(void)
{
	CASE(each_read_is_of_one_moment);
	return test_summary();
}
