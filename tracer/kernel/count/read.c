// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the keys with their numbers, and makes events of the keys. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/number.h"
#include "tracer/abi/wide.h"
#include "tracer/base/context/kernel_context.h"
#include "tracer/kernel/count/internal.h"

struct reading {
	struct counts *c;
	uint32_t cpus, step;            /* of values of one key: their number, the bytes of each */
	uint8_t *values;                /* of all CPUs */
	uint64_t *sum;                  /* the same, in all */
	uint8_t *record, *payload;
	size_t record_room, payload_room;
	struct count_result result;
};

/* ---- numbers ---- */

static uint64_t word_of(const struct reading *r, uint32_t cpu, uint32_t at)
{
	uint64_t v;

	memcpy(&v, r->values + (size_t)cpu * r->step + at, sizeof(v));
	return v;
}

static uint64_t sum_words(const struct reading *r, uint32_t at)
{
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < r->cpus; cpu++)
		sum += word_of(r, cpu, at);
	return sum;
}

static long double sum_wide(const struct reading *r, uint32_t at)
{
	struct wide sum = { 0, 0 };

	for (uint32_t cpu = 0; cpu < r->cpus; cpu++)
		sum = wide_sum(sum, (struct wide){ word_of(r, cpu, at + 8), word_of(r, cpu, at) });
	return ldexpl((long double)(int64_t)sum.high, 64) + (long double)sum.low;
}

/* Of the CPUs that have seen the key. */
static long double find_limit(const struct reading *r, uint32_t at, bool is_signed, bool most)
{
	long double limit = 0;
	bool some = false;

	for (uint32_t cpu = 0; cpu < r->cpus; cpu++) {
		uint64_t v = word_of(r, cpu, at);
		long double n = is_signed ? (long double)(int64_t)v : (long double)v;

		if (!word_of(r, cpu, 0))
			continue;
		if (!some || (most ? n > limit : n < limit))
			limit = n;
		some = true;
	}
	return limit;
}

static void sum_numbers(struct reading *r, const struct count_event *e)
{
	const struct counts *c = r->c;

	r->result.events = sum_words(r, 0);
	for (size_t i = 0; i < c->number_count; i++) {
		const struct count_number *n = &c->numbers[i];
		uint32_t at = c->number_at[i];

		r->result.numbers[i].slots = NULL;
		if (n->kind == COUNT_LEAST || n->kind == COUNT_MOST) {
			r->result.numbers[i].value = find_limit(r, at, e->numbers[i].is_signed,
								n->kind == COUNT_MOST);
			continue;
		}
		if (n->kind != COUNT_SUM) {
			for (uint32_t k = 0; k < n->slots; k++)
				r->sum[at / 8 + k] = sum_words(r, at + 8 * k);
			r->result.numbers[i].slots = r->sum + at / 8;
			at += 8 * n->slots;
		}
		r->result.numbers[i].value = sum_wide(r, at);
	}
}

/* ---- the event of a key ---- */

/* The bytes of an item in a key: an integer of less than 8 bytes was stored as one of 8. */
static const uint8_t *item_bytes(const struct counts *c, const uint8_t *key, size_t i)
{
	uint32_t size = c->item_size[i];
	bool text = size > 8 || (c->item_is_context[i] &&
				 c->items[i].context == TRAIL_CONTEXT_PROCNAME);

	return key + c->item_at[i] + (text ? 0 : md_low_bytes(8, size));
}

static bool reserve(uint8_t **to, size_t *room, size_t size)
{
	uint8_t *more = size <= *room ? *to : realloc(*to, size);

	if (!more)
		return false;
	*to = more;
	*room = size <= *room ? *room : size;
	return true;
}

/* Writes the contexts of the class; returns their size. */
static size_t put_contexts(const struct reading *r, const uint8_t *key)
{
	size_t at = 0, size;

	for (size_t i = 0; i < r->c->item_count; i++) {
		if (!r->c->item_is_context[i])
			continue;
		size = kcontext_size(r->c->items[i].context);
		memset(r->payload + at, 0, size);
		memcpy(r->payload + at, item_bytes(r->c, key, i),
		       size < r->c->item_size[i] ? size : r->c->item_size[i]);
		at += size;
	}
	return at;
}

/* False: no memory, or the key is damaged. */
static bool make_event(struct reading *r, const uint8_t *key, const struct count_event *e,
		       struct md_occurrence *o)
{
	size_t size = e->format->size, front;
	ssize_t n;

	if (!reserve(&r->record, &r->record_room, size + 8) ||
	    !reserve(&r->payload, &r->payload_room, kcode_bound(e->code, size) + 256))
		return false;
	memset(r->record, 0, size);
	for (size_t i = 0; i < r->c->item_count; i++)
		if (!r->c->item_is_context[i] && e->items[i].offset + e->items[i].size <= size)
			memcpy(r->record + e->items[i].offset, item_bytes(r->c, key, i),
			       e->items[i].size);
	front = put_contexts(r, key);
	n = kcode_run(e->code, r->record, size, r->payload + front, r->payload_room - front);
	if (n < 0)
		return false;
	*o = (struct md_occurrence){ .event = e->event, .context = r->payload,
				     .payload = r->payload + front,
				     .end = r->payload + front + n,
				     .limit = r->payload + r->payload_room };
	return true;
}

static bool begin_reading(struct reading *r, struct counts *c)
{
	*r = (struct reading){ .c = c, .cpus = c->cpus, .step = (c->value_size + 7) & ~7u };
	r->values = malloc((size_t)r->cpus * r->step);
	r->sum = malloc(c->value_size);
	return r->values && r->sum;
}

static void end_reading(struct reading *r)
{
	free(r->values);
	free(r->sum);
	free(r->record);
	free(r->payload);
}

uint64_t count_missed(const struct counts *c)
{
	uint64_t sum = 0, one;

	for (size_t i = 0; i < c->event_count; i++)
		if (!bpf_missed(c->events[i].program, &one))
			sum += one;
	return sum;
}

/*
 * Removes keys of other generations, and passes each key of this one to fn; r NULL: only removes.
 * Caller holds walk.
 */
static void walk_keys(struct counts *c, uint32_t generation, struct reading *r,
		      void (*fn)(void *arg, const struct md_occurrence *o,
				 const struct count_result *r), void *arg)
{
	uint8_t key[COUNT_KEY_BYTES], next[COUNT_KEY_BYTES];
	/* Programs may add keys meanwhile, so that the walk would not end. */
	uint64_t most = 4 * (uint64_t)c->keys;
	bool more = !bpf_map_next(c->map, NULL, key);
	struct md_occurrence o;
	struct count_key head;

	for (; more && most--; memcpy(key, next, c->key_size)) {
		memcpy(&head, key, sizeof(head));
		more = !bpf_map_next(c->map, key, next);
		if (head.generation != generation) {
			bpf_map_remove(c->map, key);
			continue;
		}
		if (!r || head.event >= c->event_count || bpf_map_get(c->map, key, r->values) ||
		    !make_event(r, key, &c->events[head.event], &o))
			continue;
		sum_numbers(r, &c->events[head.event]);
		fn(arg, &o, &r->result);
	}
	if (!more)
		c->swept = generation;
}

void count_sweep(struct counts *c, uint32_t generation)
{
	walk_keys(c, generation, NULL, NULL, NULL);
}

int counts_read(struct counts *c,
		void (*fn)(void *arg, const struct md_occurrence *o, const struct count_result *r),
		void *arg, uint64_t *left_out, uint64_t *missed)
{
	struct reading r;

	if (!begin_reading(&r, c)) {
		end_reading(&r);
		return -ENOMEM;
	}
	pthread_mutex_lock(&c->walk);
	walk_keys(c, __atomic_load_n(&c->control->generation, __ATOMIC_ACQUIRE), &r, fn, arg);
	*left_out = __atomic_load_n(&c->control->left_out, __ATOMIC_RELAXED) -
		    c->control->left_out_before;
	*missed = count_missed(c) - c->control->missed_before;
	pthread_mutex_unlock(&c->walk);
	end_reading(&r);
	return 0;
}
