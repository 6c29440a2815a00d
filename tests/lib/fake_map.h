/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A map with one rule and no session. */
#ifndef TESTS_LIB_FAKE_MAP_H
#define TESTS_LIB_FAKE_MAP_H

#include "tests/lib/test.h"
#include "tracer/view/map/map.h"

static struct map map = { .name = "m" };
static struct map_state state;

static void begin_map(const char *rule)
{
	map.states = &state;
	state.table.max = MAP_KEYS_DEFAULT;
	CHECK(!map_rules_apply(&(struct map_rules){ 0 }, DOMAIN_USER, rule, true, &map.rules,
			       NULL));
}

static void end_map(void)
{
	map_pairs_forget(&state);
	map_table_deinit(&state.table);
	map_rules_deinit(&map.rules);
}

#endif
