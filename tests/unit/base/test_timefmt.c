// SPDX-License-Identifier: GPL-2.0-or-later
/* Dates and times as text, and the hash, whose values are stored in files. */
#include <stdlib.h>
#include <time.h>

#include "tests/lib/test.h"
#include "tracer/base/hash.h"
#include "tracer/base/timefmt.h"

static void times(void)
{
	char text[TIME_TEXT_MAX];

	setenv("TZ", "XXX-2", 1);
	tzset();
	time_print(1000000000000000000, TIME_FORMAT_STATUS, text);
	CHECK_STR(text, "2001-09-09T03:46:40+0200");
	time_print(1000000000999999999, TIME_FORMAT_TRACE, text);
	CHECK_STR(text, "20010909T034640+0200");
	time_print(1000000000000000000, TIME_FORMAT_NAME, text);
	CHECK_STR(text, "20010909-034640");
	if (sizeof(time_t) < 8)
		SKIP("the C library's times end in 2038");
	time_print(INT64_MAX, TIME_FORMAT_STATUS, text);
	CHECK_STR(text, "2262-04-12T01:47:16+0200");
}

static void hashes(void)
{
	/* The published test vectors of FNV-1a */
	CHECK(hash_string(HASH_START, "") == 0xcbf29ce484222325u);
	CHECK(hash_string(HASH_START, "a") == 0xaf63dc4c8601ec8cu);
	CHECK(hash_string(HASH_START, "foobar") == 0x85944171f73967e8u);
	CHECK(hash_bytes(HASH_START, "foobar", 6) == 0x85944171f73967e8u);
	CHECK(hash_step(hash_bytes(HASH_START, "fooba", 5), 'r') == 0x85944171f73967e8u);
}

int main(void)
{
	CASE(times);
	CASE(hashes);
	return test_summary();
}
