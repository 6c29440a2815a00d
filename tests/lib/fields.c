/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail pthread */
/*
 * fields COUNT: events f:all with fields of all kinds, n counting from 0, and f:none; with contexts
 * of the application `fields:turn` (n), `fields:name` ("turn-N"), `fields:half` (n / 2.0).
 */
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <trail/trail.h>

static int turn;

static void get_turn(void *arg, struct trail_value *v)
{
	v->type = TRAIL_VALUE_SIGNED;
	v->i = *(int *)arg;
}

static void get_name(void *arg, struct trail_value *v)
{
	static char name[32];

	snprintf(name, sizeof(name), "turn-%d", *(int *)arg);
	v->type = TRAIL_VALUE_STRING;
	v->s = name;
}

static void get_half(void *arg, struct trail_value *v)
{
	v->type = TRAIL_VALUE_DOUBLE;
	v->d = *(int *)arg / 2.0;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 10;

	if (trail_context_register("fields:turn", get_turn, &turn) ||
	    trail_context_register("fields:name", get_name, &turn) ||
	    trail_context_register("fields:half", get_half, &turn) ||
	    !trail_context_register("nocolon", get_half, &turn))
		return 1;
	for (int n = 0; n < count; n++) {
		int8_t small = (int8_t)(n - 5);
		uint64_t large = UINT64_MAX - (uint64_t)n;
		uint16_t port = htons((uint16_t)n);
		double half = n / 2.0;
		char word[16], text[4] = { 'a', (char)('a' + n % 26), 'c', 0 };
		int list[3] = { n, 2 * n, 3 * n };

		turn = n;
		snprintf(word, sizeof(word), "word-%d", n);
		TRAIL(f, all, n, small, large, TRAIL_NET(port, port), half, word,
		      TRAIL_SEQUENCE(list, list, 3), TRAIL_TEXT_ARRAY(text, text, 4),
		      TRAIL_FIELD(behind, n % 3));
		TRAIL_LEVEL(WARNING, f, none);
	}
	return trail_context_unregister("fields:turn") || !trail_context_unregister("fields:turn");
}
