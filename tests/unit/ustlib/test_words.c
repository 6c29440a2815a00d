/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail-static */
/*
 * State words: the slot of a daemon is the byte of that number in memory, which the daemon writes
 * to the registration file, whatever the byte order of the host.
 */
#include "tests/lib/test.h"
#include "ustlib/words.h"

#define EVENTS 3u

/* As in the file: they begin at a multiple of 8 bytes */
static uint32_t words[EVENTS + 1] __attribute__((aligned(8)));
static struct trail__tp tps[EVENTS];
static struct trail__tp *list[EVENTS];
static struct object object = { .map = (uint8_t *)words, .event_count = EVENTS, .tps = list };

static uint8_t *slot(uint32_t event, unsigned int lane)
{
	return (uint8_t *)&words[event] + lane;
}

static void begin(void)
{
	memset(words, 0, sizeof(words));
	for (uint32_t e = 0; e < EVENTS; e++) {
		tps[e] = (struct trail__tp){ .state = &words[e] };
		list[e] = &tps[e];
	}
}

static void daemon_writes_a_byte(void)
{
	for (unsigned int lane = 0; lane < LANES; lane++) {
		begin();
		*slot(1, lane) = 7;
		CHECK(lane_of(word_of(&tps[1]), lane) == 7);
		CHECK(lane_of(word_of(&tps[1]), !lane) == 0);
		set_seen(&tps[1], lane, 7);
		CHECK(tps[1].seen == word_of(&tps[1]));
		set_seen(&tps[1], !lane, 9);
		*slot(1, !lane) = 9;
		CHECK(tps[1].seen == word_of(&tps[1]));
	}
}

static void library_asks(void)
{
	for (unsigned int lane = 0; lane < LANES; lane++) {
		begin();
		words_fill(words, EVENTS, 1u << lane);
		for (uint32_t e = 0; e < EVENTS; e++)
			CHECK(*slot(e, lane) == TRAIL_WORD_ASKING && *slot(e, !lane) == 0);
		*slot(0, !lane) = 3;
		object.unknown = (uint8_t)(1u << lane);
		words_store(&object, 1, lane, 5);
		CHECK(*slot(1, lane) == 5);
		words_resolve(&object, lane);
		CHECK(*slot(0, lane) == 0 && *slot(1, lane) == 5 && *slot(2, lane) == 0);
		CHECK(*slot(0, !lane) == 3 && !object.unknown);
	}
}

static void no_answer_comes(void)
{
	for (unsigned int lane = 0; lane < LANES; lane++) {
		begin();
		words_fill(words, EVENTS, 1u << lane);
		*slot(2, lane) = 4;     /* The daemon has written it meanwhile. */
		words_set_unknown(&object, lane);
		CHECK(*slot(0, lane) == TRAIL_WORD_UNKNOWN && *slot(2, lane) == 4);
		words_resolve(&object, lane);
		CHECK(*slot(0, lane) == 0 && *slot(1, lane) == 0 && *slot(2, lane) == 4);
	}
}

int main(void)
{
	CASE(daemon_writes_a_byte);
	CASE(library_asks);
	CASE(no_answer_comes);
	return test_summary();
}
