/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The hash table: each key is found once, however it grows and whatever the hashes are. */
#include "tests/lib/test.h"
#include "tracer/base/array.h"
#include "tracer/base/hash.h"
#include "tracer/base/hash_table.h"

#define KEYS 5000u

static uint64_t hash_of(uint32_t key, unsigned int bits)
{
	uint64_t hash = hash_step(hash_step(HASH_START, key), key >> 3);

	return bits < 64 ? hash & ((UINT64_C(1) << bits) - 1) : hash;
}

/* The index of the key; HASH_NONE: the table does not have it. */
static uint32_t find(const struct hash_table *t, const uint32_t *all, uint32_t key,
		     unsigned int bits)
{
	for (uint32_t at = 0, i; (i = hash_find(t, hash_of(key, bits), &at)) != HASH_NONE;) {
		CHECK(i < t->count);
		if (all[i] == key)
			return i;
	}
	return HASH_NONE;
}

/* Hashes of so few bits are the same for many keys. */
static void add_and_find(unsigned int bits, uint32_t keys)
{
	struct hash_table t = { 0 }, copy;
	uint32_t *all = NULL;

	CHECK(find(&t, all, 7, bits) == HASH_NONE);
	for (uint32_t key = 0; key < keys; key++) {
		CHECK(find(&t, all, 3 * key, bits) == HASH_NONE);
		CHECK(array_double(all, t.count) && hash_add(&t, hash_of(3 * key, bits)));
		all[t.count - 1] = 3 * key;
		CHECK(t.count == key + 1 && 2 * t.count <= t.size);
	}
	CHECK(hash_copy(&t, &copy));
	for (uint32_t key = 0; key < 3 * keys; key++) {
		uint32_t want = key % 3 ? HASH_NONE : key / 3;

		CHECK(find(&t, all, key, bits) == want && find(&copy, all, key, bits) == want);
	}
	hash_deinit(&t);
	CHECK(!t.count && find(&t, all, 0, bits) == HASH_NONE);
	hash_deinit(&copy);
	free(all);
}

static void many(void)
{
	add_and_find(64, KEYS);
}

static void same_hashes(void)
{
	add_and_find(3, 300);
	add_and_find(0, 200);
}

static void empty(void)
{
	struct hash_table t = { 0 }, copy;

	CHECK(hash_copy(&t, &copy) && !copy.slots && !copy.size);
	hash_deinit(&t);
	hash_deinit(&copy);
}

int main(void)
{
	CASE(many);
	CASE(same_hashes);
	CASE(empty);
	return test_summary();
}
