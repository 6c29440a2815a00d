/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers at the ends of their ranges, and beyond: in `values` and in `values.json` of a map. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/buf.h"
#include "tests/lib/fake_map.h"

/* An event with the key, whose operators all have the number. */
static void add_as(uint64_t key, long double number, bool real)
{
	struct map_value v = { .kind = MAP_UNSIGNED, .u = key };
	struct map_key k = { 0 };
	struct map_row *row;
	struct map_numbers numbers = { .real = real ? UINT8_MAX : 0, .wide = real ? UINT8_MAX : 0 };

	for (size_t i = 0; i < MAP_OPERATORS_MAX; i++)
		numbers.v[i] = number;
	map_key_add(&k, &v);
	row = map_table_find(&state.table, &k);
	if (!row)
		row = map_table_add(&state.table, &map.rules.rules[0], &k);
	CHECK(row);
	if (row)
		map_row_add(row, &map.rules.rules[0], &numbers);
}

static void add(uint64_t key, long double number)
{
	add_as(key, number, false);
}

/* What follows `after` in what the function prints. */
static void check_after(int (*print)(const struct map *m, struct md_buf *out), const char *after,
			const char *want)
{
	struct md_buf out = MD_BUF_INIT;
	const char *at;

	CHECK(!print(&map, &out));
	at = strstr(md_buf_str(&out), after);
	CHECK(at);
	if (at)
		CHECK_STR(at + strlen(after), want);
	md_buf_deinit(&out);
}

static void large_whole_numbers(void)
{
	if (LDBL_MANT_DIG < 64)
		SKIP("a long double has less than 64 bits here");
	begin_map("a:b by k max(n), topk(n, 2)");
	add(1, 18446744073709551615.0L);
	add(1, 10000000000000000001.0L);
	add(1, 2);
	check_after(map_print, " k\n", " 18446744073709551615 1\ntopk(n) 1\n"
				       "18446744073709551615\n10000000000000000001\n");
	check_after(map_print_json, "\"events\":3,",
		    "\"max(n)\":18446744073709551615,"
		    "\"topk(n)\":[18446744073709551615,10000000000000000001]}]}]}\n");
	end_map();
}

static void infinite_numbers(void)
{
	begin_map("a:b by k max(f), topk(f, 3)");
	add_as(1, (long double)INFINITY, true);
	add_as(1, 12.3e-6, true);
	add_as(1, -(long double)INFINITY, true);
	check_after(map_print_json, "\"events\":3,",
		    "\"max(f)\":\"Infinity\","
		    "\"topk(f)\":[\"Infinity\",1.23e-05,\"-Infinity\"]}]}]}\n");
	end_map();
}

/* A sum that is no number does not mix up the others. */
static void order_with_nan(void)
{
	static const uint64_t keys[] = { 5, 3, 8, 1, 9, 2, 7, 4, 6 };

	begin_map("a:b by k sum(f)");
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		add(keys[i], (long double)keys[i]);
	for (uint64_t k = 2; k < 10; k += 3) {
		add_as(k, (long double)INFINITY, true);
		add_as(k, -(long double)INFINITY, true);
	}
	check_after(map_print_json, "\"values\":[",
		    "\n{\"key\":{\"k\":9},\"events\":1,\"sum(f)\":9},"
		    "\n{\"key\":{\"k\":7},\"events\":1,\"sum(f)\":7},"
		    "\n{\"key\":{\"k\":6},\"events\":1,\"sum(f)\":6},"
		    "\n{\"key\":{\"k\":4},\"events\":1,\"sum(f)\":4},"
		    "\n{\"key\":{\"k\":3},\"events\":1,\"sum(f)\":3},"
		    "\n{\"key\":{\"k\":1},\"events\":1,\"sum(f)\":1},"
		    "\n{\"key\":{\"k\":2},\"events\":3,\"sum(f)\":\"NaN\"},"
		    "\n{\"key\":{\"k\":5},\"events\":3,\"sum(f)\":\"NaN\"},"
		    "\n{\"key\":{\"k\":8},\"events\":3,\"sum(f)\":\"NaN\"}]}]}\n");
	end_map();
}

/* Devices of the kernel, for people. */
static void devices(void)
{
	const uint64_t sda2 = 8 << 20 | 2;

	map.domain = DOMAIN_KERNEL;
	begin_map("block:block_rq_issue by dev hist(n)");
	add(sda2, 1);
	check_after(map_print, "hist(n) 8:2",
		    "\n[1, 2)                     1 "
		    "|████████████████████████████████████████████████|\n");
	check_after(map_print_json, "\"key\":",
		    "{\"dev\":8388610},\"events\":1,"
		    "\"hist(n)\":[{\"from\":1,\"to\":2,\"count\":1}]}]}]}\n");
	end_map();
	begin_map("a:b by device");
	add(sda2, 1);
	check_after(map_print, " count device\n", "              1 8388610\n");
	end_map();
	map.domain = DOMAIN_USER;
	begin_map("a:b by dev");
	add(sda2, 1);
	check_after(map_print, " count dev\n", "              1 8388610\n");
	end_map();
}

int main(void)
{
	CASE(large_whole_numbers);
	CASE(infinite_numbers);
	CASE(order_with_nan);
	CASE(devices);
	return test_summary();
}
