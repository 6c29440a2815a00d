/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/* The first test of a slot's filter: ranges of integers and beginnings of strings. */
#include "tests/lib/test.h"
#include "ustlib/quick.h"

#define AT 3u                   /* of the field in the payload */

static uint8_t payload[AT + 8 + 8];     /* what follows is readable, and anything */

static enum quick_outcome test(const struct quick *q, const void *value, uint32_t bytes)
{
	memset(payload, 0xa5, sizeof(payload));
	memcpy(payload + AT, value, bytes);
	return quick_test(q, payload, AT + bytes);
}

static bool passes32(const struct quick *q, uint32_t v)
{
	enum quick_outcome got = test(q, &v, 4);

	CHECK(got != QUICK_CANNOT);
	return got == QUICK_PASSES;
}

static bool passes64(const struct quick *q, uint64_t v)
{
	enum quick_outcome got = test(q, &v, 8);

	CHECK(got != QUICK_CANNOT);
	return got == QUICK_PASSES;
}

static void ranges(void)
{
	uint32_t low = 0xfffffff0, span = 0x20;         /* -16 … 16 */
	uint64_t wide_low = UINT64_C(0x100000001), wide_span = 1;
	struct quick q = quick_of(AT, 4, &low, &span);

	CHECK(passes32(&q, low) && passes32(&q, 0) && passes32(&q, 16));
	CHECK(!passes32(&q, low - 1) && !passes32(&q, 17) && !passes32(&q, 0x10000000));
	q = quick_of(AT, 8, &wide_low, &wide_span);
	CHECK(passes64(&q, wide_low) && passes64(&q, wide_low + 1));
	CHECK(!passes64(&q, wide_low - 1) && !passes64(&q, wide_low + 2) && !passes64(&q, 1));
}

static void strings(void)
{
	static const uint64_t nothing;
	struct quick q = quick_of(AT, 3, "web", &nothing);

	CHECK(test(&q, "website", 8) == QUICK_PASSES && test(&q, "we\0site", 8) == QUICK_REJECTS);
	CHECK(test(&q, "xeb", 4) == QUICK_REJECTS && test(&q, "wec", 4) == QUICK_REJECTS);
	q = quick_of(AT, 4, "web", &nothing);
	CHECK(test(&q, "web", 4) == QUICK_PASSES && test(&q, "website", 8) == QUICK_REJECTS);
}

static void short_payload(void)
{
	uint32_t low = 0, span = UINT32_MAX;
	struct quick q = quick_of(AT, 4, &low, &span);

	CHECK(test(&q, &low, 3) == QUICK_CANNOT && test(&q, &low, 4) == QUICK_PASSES);
}

int main(void)
{
	CASE(ranges);
	CASE(strings);
	CASE(short_payload);
	return test_summary();
}
