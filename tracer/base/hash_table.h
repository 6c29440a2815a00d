/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash table: it finds the indices of elements, which an array of the caller has, by a hash of
 * their keys. It grows; elements are never removed one by one. All zero at first. No lock: a table
 * belongs to its caller. Any thread.
 *
 *	for (uint32_t at = 0, i; (i = hash_find(&t, hash, &at)) != HASH_NONE;)
 *		if (is_same(&all[i], key))
 *			return i;
 *	return array_double(all, t.count) && hash_add(&t, hash) ? t.count - 1 : HASH_NONE;
 *
 * Open addressing, at most half full. A slot has 32 bits of the hash, so most elements with another
 * key are not looked at, and growing asks for no key.
 */
#ifndef TRACER_BASE_HASH_TABLE_H
#define TRACER_BASE_HASH_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONE UINT32_MAX

struct hash_slot {
	uint32_t hash;
	uint32_t number;        /* 1 + the index; 0: free */
};

struct hash_table {
	struct hash_slot *slots;        /* owned */
	uint32_t size;                  /* a power of two, or 0 */
	uint32_t count;                 /* of elements: the index of the next one */
};

static inline uint32_t hash_fold(uint64_t hash)
{
	return (uint32_t)(hash ^ hash >> 32);
}

/*
 * The index of an element that may be the one with this hash; HASH_NONE: there is no other. *at: 0
 * before the first call; it is where the next one continues.
 */
static inline uint32_t hash_find(const struct hash_table *t, uint64_t hash, uint32_t *at)
{
	uint32_t h = hash_fold(hash);
	const struct hash_slot *s;

	if (!t->size)
		return HASH_NONE;
	for (;;) {
		s = &t->slots[(h + (*at)++) & (t->size - 1)];
		if (!s->number)
			return HASH_NONE;
		if (s->hash == h)
			return s->number - 1;
	}
}

static inline void hash_put(struct hash_table *t, struct hash_slot slot)
{
	uint32_t i = slot.hash;

	while (t->slots[i & (t->size - 1)].number)
		i++;
	t->slots[i & (t->size - 1)] = slot;
}

/* Adds the element with index t->count, and counts it. False: no memory; nothing has changed. */
static inline bool hash_add(struct hash_table *t, uint64_t hash)
{
	struct hash_table new = { .size = t->size ? 2 * t->size : 16, .count = t->count };

	if (2 * t->count >= t->size) {
		new.slots = calloc(new.size, sizeof(*new.slots));
		if (!new.slots)
			return false;
		for (uint32_t i = 0; i < t->size; i++)
			if (t->slots[i].number)
				hash_put(&new, t->slots[i]);
		free(t->slots);
		*t = new;
	}
	hash_put(t, (struct hash_slot){ hash_fold(hash), ++t->count });
	return true;
}

/* Makes a table with the same elements, of another array. False: no memory. */
static inline bool hash_copy(const struct hash_table *from, struct hash_table *to)
{
	*to = *from;
	if (!from->size)
		return true;
	to->slots = malloc(from->size * sizeof(*to->slots));
	if (!to->slots) {
		*to = (struct hash_table){ 0 };
		return false;
	}
	memcpy(to->slots, from->slots, from->size * sizeof(*to->slots));
	return true;
}

static inline void hash_deinit(struct hash_table *t)
{
	free(t->slots);
	*t = (struct hash_table){ 0 };
}

#endif
