/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * First events of pairs as the journal repeats them, and what is left of them when their channels
 * are gone; values that the daemon takes over from the kernel.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/lib/fake_map.h"

static void repeat(enum map_side side, uint64_t join, struct map_first *first)
{
	struct pair_open key = { .trace = &map, .a = join, .b = join, .ts = 100 * join };

	map_pair_repeat(&map, map.rules.rules, &state, side, &key, first);
}

/* How many first events wait with these values of the fields after `on`. */
static uint32_t waiting(uint64_t join)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < PAIR_WAITING && state.waiting; i++)
		n += state.waiting->all[i].trace && state.waiting->all[i].a == join;
	return n;
}

static struct map_first *values(const char *text)
{
	struct map_first *f = calloc(1, sizeof(*f) + strlen(text));

	CHECK(f);
	f->len = (uint32_t)strlen(text);
	memcpy(f->bytes, text, f->len);
	return f;
}

static void repeats(void)
{
	begin_map("pair a:b c:d on x count\n");
	CHECK(!map.rules.rules[0].has_first);
	repeat(MAP_SIDE_FIRST, 1, NULL);
	repeat(MAP_SIDE_FIRST, 1, NULL);
	/* The rule names none of its fields: they are dropped. */
	repeat(MAP_SIDE_FIRST, 2, values("left over"));
	CHECK(waiting(1) == 2 && waiting(2) == 1 && !state.firsts);
	repeat(MAP_SIDE_LAST, 1, NULL);
	CHECK(waiting(1) == 1);
	/* A second event without a first one. */
	repeat(MAP_SIDE_LAST, 3, NULL);
	CHECK(waiting(1) == 1 && waiting(2) == 1 && waiting(3) == 0);
	end_map();
}

static void repeats_with_values(void)
{
	size_t bytes;

	begin_map("pair a:b c:d on x by first.y count\n");
	CHECK(map.rules.rules[0].has_first);
	repeat(MAP_SIDE_FIRST, 1, values("one"));
	bytes = state.first_bytes;
	CHECK(bytes == sizeof(struct map_first) + 3);
	repeat(MAP_SIDE_FIRST, 2, values("three"));
	CHECK(state.first_bytes == 2 * bytes + 2);
	repeat(MAP_SIDE_LAST, 2, NULL);
	CHECK(state.first_bytes == bytes && waiting(1) == 1);
	end_map();
}

/* Losses of channels that are gone are none of what waits. */
static void forgets_outages(void)
{
	struct outage *of;
	struct pair_open key = { .trace = &map, .a = 1, .b = 1, .ts = 100 };
	struct pair_end last;

	begin_map("pair a:b c:d on x count\n");
	repeat(MAP_SIDE_FIRST, 1, NULL);
	of = outages_of(&map.outages, NULL, 0);
	CHECK(of);
	outages_begin(&map.outages, of);
	for (uint32_t i = 0; i < PAIR_WAITING; i++)
		if (state.waiting->all[i].trace)
			state.waiting->all[i].at.of = of;
	map_outages_forget(&map);
	CHECK(!map.outages.all && !map.outages.now);
	CHECK(pair_open_take(state.waiting, &key, false, true, &last) && !last.interrupted);
	end_map();
}

/* Of a rule that the kernel counted: all rows are to be written, as the daemon's own. */
static void hands_over(void)
{
	struct map_value v = { .kind = MAP_UNSIGNED, .u = 7 };
	struct map_key k = { 0 };
	struct map_row *row;

	begin_map("a:b by x count\n");
	map_key_add(&k, &v);
	row = map_table_add(&state.table, map.rules.rules, &k);
	CHECK(row && !row->changed);
	map.journal.changed = false;
	map_kernel_hand_over(&map);
	CHECK(row && row->changed && map.journal.changed && state.table.changed == row);
	end_map();
}

int main(void)
{
	CASE(repeats);
	CASE(repeats_with_values);
	CASE(forgets_outages);
	CASE(hands_over);
	return test_summary();
}
