/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * The order of the ring's memory accesses on processors that keep less order than x86: the writer
 * of tracer/abi/ring_write.h and the reader of tracer/base/ring/reader.c are compiled here with
 * atomic operations that keep all values which an address ever had. A load returns any of them that
 * the memory model of C11 allows: none older than what this thread has seen, by its own loads, or
 * by release and acquire. Views say what was seen: for each address, the number of a value. (Loads
 * never return what is stored later: that is the model without cycles of dependencies.)
 *
 * The writer reads nothing that the reader stores, so it runs first, and the reader has the choice
 * of all of its values. Each run makes other choices, by numbers that are the same each time.
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

enum { WORDS = 96, VALUES = 64, SUBBUF = 64, COUNT = 2, EVENTS = 11, RUNS = 300000 };

typedef struct { uint8_t at[WORDS]; } view;
struct value { uint64_t word[2]; view seen; };
struct thread { view now, acquired, released; };

/* Word 0 is tally, which most processors store at once. */
static struct place {
	const void *address;
	unsigned int count;
	struct value values[VALUES];
} places[WORDS];
static unsigned int place_count;
static struct thread writer, reader, *self;
static uint64_t seed;
static const uint64_t *last_head;       /* what the reader's last load of head returned */
static uint64_t last_head_value;
static _Alignas(64) uint8_t memory[4096];

static size_t tally_size(void);

static void join(view *to, const view *from)
{
	for (int i = 0; i < WORDS; i++)
		if (from->at[i] > to->at[i])
			to->at[i] = from->at[i];
}

static struct place *place_of(const void *address)
{
	uintptr_t word = (uintptr_t)address & ~(uintptr_t)7;

	/* head, last_ts, tally: see struct trail_ring */
	if (word == (uintptr_t)memory + 24 && tally_size() == 16)
		word -= 8;
	for (unsigned int i = 0; i < place_count; i++)
		if (places[i].address == (const void *)word)
			return &places[i];
	if (place_count == WORDS)
		abort();
	places[place_count] = (struct place){ .address = (const void *)word, .count = 1 };
	return &places[place_count++];
}

/* The value that is in memory now, as a store of this thread */
static void note(const void *address, bool release)
{
	struct place *p = place_of(address);
	struct value *v = &p->values[p->count];
	size_t i = (size_t)(p - places);

	if (p->count == VALUES)
		abort();
	memcpy(v->word, p->address, p->address == memory + 16 ? tally_size() : 8);
	self->now.at[i] = (uint8_t)p->count;
	v->seen = release ? self->now : self->released;
	v->seen.at[i] = (uint8_t)p->count++;
}

/* tally is stored without an atomic operation, just before one. */
static void note_tally(void)
{
	const struct place *p = place_of(memory + 16);

	if (self == &writer && memcmp(p->values[p->count - 1].word, memory + 16, tally_size()))
		note(memory + 16, false);
}

static uint64_t load_word(const void *address, int order)
{
	struct place *p = place_of(address);
	size_t i = (size_t)(p - places), from = self->now.at[i], which = p->count - 1;
	const struct value *v;

	if (self == &reader) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		/* The oldest one, as often as any other */
		which = from + (seed >> 63 ? 0 : (seed >> 33) % (p->count - from));
	}
	v = &p->values[which];
	self->now.at[i] = (uint8_t)which;
	join(order == __ATOMIC_RELAXED ? &self->acquired : &self->now, &v->seen);
	if (address == (const void *)last_head)
		last_head_value = v->word[0];
	return v->word[((uintptr_t)address - (uintptr_t)p->address) / 8];
}

/* Where a number of that size is in a word */
static size_t unused(size_t size)
{
	return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? sizeof(uint64_t) - size : 0;
}

static uint64_t model_load(const void *address, size_t size, int order)
{
	uintptr_t offset = (uintptr_t)address - (uintptr_t)memory;
	uint64_t word = 0;

	note_tally();
	if (offset < sizeof(memory))
		word = load_word(address, order);
	else
		memcpy((char *)&word + unused(size), address, size);
	return word;
}

static void model_store(void *address, uint64_t word, size_t size, int order)
{
	note_tally();
	memcpy(address, (const char *)&word + unused(size), size);
	note(address, order != __ATOMIC_RELAXED);
}

static bool model_exchange(uint64_t *address, uint64_t word, int order)
{
	model_store(address, word, sizeof(word), order);
	return true;
}

static void model_fence(int order)
{
	if (order != __ATOMIC_RELEASE)
		join(&self->now, &self->acquired);
	if (order != __ATOMIC_ACQUIRE)
		self->released = self->now;
}

static void model_copy(void *to, const void *from, size_t n)
{
	uintptr_t offset = (uintptr_t)to - (uintptr_t)memory;

	memcpy(to, from, n);
	if (offset < sizeof(memory))
		for (size_t at = offset & ~(size_t)7; at < offset + n; at += 8)
			note(memory + at, false);
}

#define __atomic_load_n(p, order) ((__typeof__(*(p)))model_load(p, sizeof(*(p)), order))
#define __atomic_store_n(p, v, order) model_store((void *)(p), v, sizeof(*(p)), order)
#define __atomic_compare_exchange_n(p, old, v, weak, order, other) \
	((void)(old), model_exchange(p, v, order))
#define __atomic_thread_fence(order) model_fence(order)
#define memcpy(to, from, n) model_copy(to, from, n)
#include "tracer/abi/ring_write.h"
#define ring_mark model_ring_mark
#define ring_holds model_ring_holds
#define ring_piece model_ring_piece
#include "tracer/base/ring/reader.c"
#undef memcpy

static size_t tally_size(void)
{
#ifdef TRAIL_STORES_WORDS
	return 8;
#else
	return 16;
#endif
}

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
	last_head = &w.ring->head;
	place_of(memory + 16);
	self = &writer;
	for (uint64_t i = 1; i <= EVENTS; i++) {
		uint64_t payload = i * 0x0101010101010101u, k;

		CHECK(ring_write(&w, &on, 1, 1, &payload, sizeof(payload)));
		note_tally();
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

	reader = (struct thread){ 0 };
	self = &reader;
	model_ring_mark(&stream, &m);
	if (last_head_value != m.head)
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
	for (size_t at = 0; at < n; at += 8) {
		uint64_t word = model_load(memory + 1024 + k % COUNT * SUBBUF + at, 8,
					   __ATOMIC_RELAXED);

		memcpy(bytes + at, &word, 8);
	}
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
