/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps that take parts of a payload: abi/pick.h. */
#include <stdlib.h>

#include "tests/lib/test.h"
#include "tracer/abi/pick.h"

#define TAKE 1
/* The bytes of a length of 16 bits */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define TWO "\0\2"
#else
#define TWO "\2\0"
#endif

static uint8_t out[TRAIL_PICK_MAX];

static void takes_parts(void)
{
	static const struct trail_pick_step steps[] = {
		{ .kind = TRAIL_PICK_BYTES, .bytes = 4 },
		{ .kind = TRAIL_PICK_STRING, .take = TAKE },
		{ .kind = TRAIL_PICK_SEQUENCE, .size = 2, .bytes = 4 },
		{ .kind = TRAIL_PICK_SEQUENCE, .size = 1, .bytes = 1, .take = TAKE },
		{ .kind = TRAIL_PICK_BYTES, .bytes = 2, .take = TAKE },
	};
	static const uint8_t payload[] = "abcd" "text\0" TWO "12345678" "\3" "xyz" "ZZ" "rest";

	CHECK(trail_pick_is_valid(steps, 5));
	CHECK(trail_pick_run(steps, 5, payload, sizeof(payload), out) == 5 + 4 + 2);
	CHECK(!memcmp(out, "text\0\3xyzZZ", 11));
	CHECK(trail_pick_run(steps, 0, payload, sizeof(payload), out) == 0);
	/* A payload that ends too early, at each place. */
	for (size_t n = 0; n < 25; n++) {
		uint8_t *copy = malloc(n + 1);

		if (!copy)
			return;
		memcpy(copy, payload, n);
		CHECK(trail_pick_run(steps, 5, copy, n, out) == SIZE_MAX);
		free(copy);
	}
}

static void cuts_text(void)
{
	static const struct trail_pick_step text[] = {
		{ .kind = TRAIL_PICK_STRING, .take = TAKE },
		{ .kind = TRAIL_PICK_SEQUENCE, .size = 4, .bytes = 1, .take = TAKE },
		{ .kind = TRAIL_PICK_BYTES, .bytes = 1, .take = TAKE },
	};
	static uint8_t payload[1000 + 4 + 700 + 1];
	uint32_t n = 700, cut;

	memset(payload, 'a', 999);
	memcpy(payload + 1000, &n, 4);
	memset(payload + 1004, 'b', 700);
	payload[1704] = '!';
	CHECK(trail_pick_run(text, 3, payload, sizeof(payload), out) == 256 + 4 + 255 + 1);
	CHECK(out[254] == 'a' && !out[255]);
	memcpy(&cut, out + 256, 4);
	CHECK(cut == 255 && out[260] == 'b' && out[515] == '!');
}

static void refuses_steps(void)
{
	struct trail_pick_step s = { .kind = TRAIL_PICK_BYTES, .take = TAKE,
				     .bytes = TRAIL_PICK_MAX + 1 };
	const uint8_t payload[16] = { 0 };

	CHECK(!trail_pick_is_valid(&s, 1));
	CHECK(trail_pick_run(&s, 1, payload, sizeof(payload), out) == SIZE_MAX);
	s = (struct trail_pick_step){ .kind = 3 };
	CHECK(!trail_pick_is_valid(&s, 1));
	s = (struct trail_pick_step){ .kind = TRAIL_PICK_SEQUENCE, .size = 3 };
	CHECK(!trail_pick_is_valid(&s, 1));
	s = (struct trail_pick_step){ .kind = TRAIL_PICK_SEQUENCE, .size = 200, .bytes = 1 };
	CHECK(trail_pick_run(&s, 1, payload, sizeof(payload), out) == SIZE_MAX);
}

int main(void)
{
	CASE(takes_parts);
	CASE(cuts_text);
	CASE(refuses_steps);
	return test_summary();
}
