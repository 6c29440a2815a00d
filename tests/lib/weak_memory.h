/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a processor that keeps less order than x86, for tests of a ring: what is included
 * after this is compiled with atomic operations that keep all values which an address ever had. A
 * load returns any of them that the memory model of C11 allows: none older than what this thread
 * has seen, by its own loads, or by release and acquire. Views say what was seen: for each address,
 * the number of a value. (Loads never return what is stored later: that is the model without cycles
 * of dependencies.) memcpy reads word by word.
 *
 * The writer reads nothing that the reader stores, so it runs first, and the reader has the choice
 * of all of its values. What it stores in other ways than by atomic operations is found by
 * comparing: nothing orders such stores between two of these. Each run makes other choices, by
 * numbers that are the same each time.
 */
#ifndef TESTS_LIB_WEAK_MEMORY_H
#define TESTS_LIB_WEAK_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 96, VALUES = 200 };

typedef struct { uint8_t at[WORDS]; } view;
struct value { uint64_t word[2]; view seen; };
struct thread { view now, acquired, released; };

static struct place {
	const void *address;
	unsigned int count;
	uint64_t last;                  /* what the reader loaded last (its first word) */
	struct value values[VALUES];
} places[WORDS];
static unsigned int place_count;
static struct thread writer, reader, *self;
static uint64_t seed;
static _Alignas(64) uint8_t memory[4096], noted[sizeof(memory)];
/* Where in memory two words are that are stored at once; there need be none. */
static size_t pair_at = sizeof(memory);

static void join(view *to, const view *from)
{
	for (int i = 0; i < WORDS; i++)
		if (from->at[i] > to->at[i])
			to->at[i] = from->at[i];
}

static struct place *place_of(const void *address)
{
	uintptr_t word = (uintptr_t)address & ~(uintptr_t)7;

	if (word == (uintptr_t)memory + pair_at + 8)
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
	size_t i = (size_t)(p - places), offset = (size_t)((const uint8_t *)p->address - memory),
	       size = offset == pair_at ? 16 : 8;

	if (p->count == VALUES)
		abort();
	memcpy(v->word, memory + offset, size);
	memcpy(noted + offset, memory + offset, size);
	self->now.at[i] = (uint8_t)p->count;
	v->seen = release ? self->now : self->released;
	v->seen.at[i] = (uint8_t)p->count++;
}

static void note_plain(void)
{
	if (self == &writer)
		for (size_t at = 0; at < sizeof(memory); at += 8)
			if (memcmp(noted + at, memory + at, 8) != 0)
				note(memory + at, false);
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
	if (self == &reader)
		p->last = v->word[0];
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

	note_plain();
	if (offset < sizeof(memory))
		word = load_word(address, order);
	else
		memcpy((char *)&word + unused(size), address, size);
	return word;
}

static void model_store(void *address, uint64_t word, size_t size, int order)
{
	note_plain();
	memcpy(address, (const char *)&word + unused(size), size);
	note(address, order != __ATOMIC_RELAXED);
}

static inline bool model_exchange(uint64_t *address, uint64_t word, int order)
{
	model_store(address, word, sizeof(word), order);
	return true;
}

static inline void model_add(uint64_t *address, uint64_t n, int order)
{
	model_store(address, *address + n, sizeof(n), order);
}

static void model_fence(int order)
{
	note_plain();
	if (order != __ATOMIC_RELEASE)
		join(&self->now, &self->acquired);
	if (order != __ATOMIC_ACQUIRE)
		self->released = self->now;
}

static void model_copy(void *to, const void *from, size_t n)
{
	uintptr_t offset = (uintptr_t)from - (uintptr_t)memory;
	uint64_t word;

	if (self != &reader || offset >= sizeof(memory)) {
		memcpy(to, from, n);
		return;
	}
	if (offset % 8)
		abort();
	for (size_t at = 0; at < n; at += 8) {
		word = load_word(memory + offset + at, __ATOMIC_RELAXED);
		memcpy((char *)to + at, &word, n - at < 8 ? n - at : 8);
	}
}

/* Memory of zeros, and a writer */
static void begin_writer(void)
{
	memset(memory, 0, sizeof(memory));
	memset(noted, 0, sizeof(noted));
	place_count = 0;
	writer = (struct thread){ 0 };
	self = &writer;
}

/* A reader that has seen nothing */
static void begin_reader(void)
{
	reader = (struct thread){ 0 };
	self = &reader;
}

#define __atomic_load_n(p, order) ((__typeof__(*(p)))model_load(p, sizeof(*(p)), order))
#define __atomic_store_n(p, v, order) model_store((void *)(p), v, sizeof(*(p)), order)
#define __atomic_compare_exchange_n(p, old, v, weak, order, other) \
	((void)(old), model_exchange((uint64_t *)(p), v, order))
#define __atomic_fetch_add(p, v, order) model_add((uint64_t *)(p), v, order)
#define __atomic_thread_fence(order) model_fence(order)
#define memcpy(to, from, n) model_copy(to, from, n)

#endif
