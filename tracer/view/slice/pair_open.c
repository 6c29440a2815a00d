/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/view/slice/pair_open.h"

#include <string.h>

#include "tracer/base/hash.h"

#define STEPS 64u               /* chosen collisions do not make a search longer */

void pair_open_init(struct pair_waiting *p)
{
	memset(p->heads, 0xff, sizeof(p->heads));
}

static uint32_t slot_of(const struct pair_open *o)
{
	uint64_t h = hash_step(HASH_START, o->a);

	h = hash_step(h, o->b);
	h = hash_step(h, o->pair);
	h = hash_step(h, (uintptr_t)o->trace);
	return (uint32_t)(h ^ h >> 32) % PAIR_WAITING;
}

static bool is_same_key(const struct pair_open *x, const struct pair_open *y)
{
	return x->a == y->a && x->b == y->b && x->pair == y->pair && x->trace == y->trace;
}

/* The newest entry with this key; PAIR_NONE: there is none. */
static uint32_t find_key(const struct pair_waiting *p, const struct pair_open *key)
{
	uint32_t i = p->heads[slot_of(key)];

	for (unsigned int n = 0; i != PAIR_NONE && n < STEPS; n++, i = p->all[i].next)
		if (is_same_key(&p->all[i], key))
			return i;
	return PAIR_NONE;
}

static void drop_entry(struct pair_waiting *p, uint32_t i)
{
	struct pair_open *o = &p->all[i];

	if (o->prev == PAIR_NONE)
		p->heads[slot_of(o)] = o->next;
	else
		p->all[o->prev].next = o->next;
	if (o->next != PAIR_NONE)
		p->all[o->next].prev = o->prev;
	o->trace = NULL;
}

static uint32_t add_entry(struct pair_waiting *p, const struct pair_open *key)
{
	uint32_t i = p->next_open++ % PAIR_WAITING, *head;

	if (p->all[i].trace)
		drop_entry(p, i);
	head = &p->heads[slot_of(key)];
	p->all[i] = *key;
	p->all[i].next = *head;
	p->all[i].prev = PAIR_NONE;
	if (*head != PAIR_NONE)
		p->all[*head].prev = i;
	*head = i;
	return i;
}

bool pair_open_take(struct pair_waiting *p, const struct pair_open *key, bool begins, bool nest,
		    struct pair_end *end)
{
	uint32_t i = begins && nest ? PAIR_NONE : find_key(p, key);

	if (begins && i != PAIR_NONE) {
		p->all[i].ts = key->ts;
		p->all[i].at = key->at;
	}
	if (begins && i == PAIR_NONE)
		i = add_entry(p, key);
	end->place = i;
	if (begins || i == PAIR_NONE)
		return false;
	end->ns = key->ts - p->all[i].ts;
	end->interrupted = outage_between(&p->all[i].at, key->at.of);
	drop_entry(p, i);
	return true;
}
