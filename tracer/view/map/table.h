/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The keys of a rule, and the numbers of each. Keys beyond map_table.max are counted, not kept. No
 * lock: a table belongs to its map.
 */
#ifndef TRACER_MAP_TABLE_H
#define TRACER_MAP_TABLE_H

#include "tracer/view/map/rules.h"
#include "tracer/view/map/value.h"

#define MAP_KEYS_DEFAULT 4096u
#define MAP_SHOWN_MAX 4096u             /* of topk(K) */
#define MAP_TEXT_MAX 255u               /* bytes of a text in a key; a longer one is cut */
#define MAP_KEY_BYTES (MAP_FIELDS_MAX * (MAP_TEXT_MAX + 9u))

union map_slot {
	uint64_t n;                     /* MAP_HIST, MAP_LHIST */
	long double v;
};

struct map_row {
	uint64_t count;                 /* events */
	uint32_t key_len;
	uint8_t hex, single;            /* as in struct map_key, of the row's first event */
	/* bit n: operator n had a floating point number, one of 8 bytes */
	uint8_t real, wide;
	bool changed;                   /* in the list of the table */
	uint32_t index;                 /* in the rows of the table */
	struct map_row *later;          /* in the list of the table */
	uint8_t *key;                   /* after the slots, in the same piece of memory */
	union map_slot slots[];         /* of each operator, in order */
};

struct map_table {
	struct map_row **rows;          /* in the order of their first events; owned */
	uint32_t count, max;            /* max: set before the first key comes */
	uint32_t size;                  /* of slots: a power of two, at least 2 * max */
	uint32_t *slots;                /* hash table: indices in rows + 1; 0: free; owned */
	/* Rows that differ from what the journal has; new ones in the order of their indices. */
	struct map_row *changed, *changed_last;
};

/* A key in the making. */
struct map_key {
	uint32_t len;
	uint8_t count;                  /* of values */
	/* Bit n: value n is shown in base 16, is a float of 4 bytes. No part of the key. */
	uint8_t hex, single;
	uint8_t bytes[MAP_KEY_BYTES];
};

void map_key_add(struct map_key *k, const struct map_value *v);
/* Adds the name of the event, or its provider, as the field says. */
void map_key_add_name(struct map_key *k, const struct map_field *f, const char *event);
/* Bytes of the value that begins at p in a key. */
static inline uint32_t map_key_value_size(const uint8_t *p)
{
	return *p == MAP_TEXT ? 2u + p[1] : 1 + (uint32_t)sizeof(uint64_t);
}

/* Takes the next value off a key; *at begins as 0. False: there is none. */
bool map_key_next(const struct map_row *row, uint32_t *at, struct map_value *v);

struct map_row *map_table_find(const struct map_table *t, const struct map_key *k);
/* Bytes of the slots of a row. */
size_t map_slots_size(const struct map_rule *r);
/* Bytes of a new row. */
size_t map_row_size(const struct map_rule *r, const struct map_key *k);
/* Adds a key that the table does not have. NULL: no room, or no memory. */
struct map_row *map_table_add(struct map_table *t, const struct map_rule *r,
			      const struct map_key *k);
/* The row will differ from what the journal has. */
void map_row_change(struct map_table *t, struct map_row *row);
/* The journal has all rows as they are. */
void map_table_written(struct map_table *t);
/* The number of an event for each operator: 0 for MAP_COUNT. */
struct map_numbers {
	long double v[MAP_OPERATORS_MAX];
	uint8_t real, wide;             /* as in struct map_row */
};

/* Adds an event. */
void map_row_add(struct map_row *row, const struct map_rule *r, const struct map_numbers *numbers);
void map_table_deinit(struct map_table *t);

/* Interval i of a histogram: from <= number < to. The first and the last have no end. */
struct map_interval { long double from, to; };
struct map_interval map_interval_of(const struct map_op *op, uint32_t i);
/* The numbers of operator `op` in the row; of a histogram, the sum follows its intervals. */
const union map_slot *map_row_slots(const struct map_row *row, const struct map_rule *r, size_t op);

#endif
