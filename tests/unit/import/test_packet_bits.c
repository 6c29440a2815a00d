/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Integers of imported packets: each size at each bit of a byte, both byte orders, with and without
 * a sign, in the middle of the bytes and at their very end.
 */
#include <stdlib.h>

#include "metadata/number.h"
#include "tests/lib/test.h"
#include "tracer/format/import/layout.h"

#define BYTES 24u

/* Bit i of an integer at bit `at`, counted from the lowest one. */
static unsigned int get_bit(const uint8_t *p, uint64_t at, const struct step *s, unsigned int i)
{
	uint64_t n = s->big_endian ? at + s->size - 1 - i : at + i;

	return p[n / 8] >> (s->big_endian ? 7 - n % 8 : n % 8) & 1;
}

/* The same, bit by bit. */
static uint64_t read_slowly(const uint8_t *p, uint64_t at, const struct step *s)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < 64; i++) {
		unsigned int from = i < s->size ? i : s->size - 1u;

		if (i < s->size || s->is_signed)
			v |= (uint64_t)get_bit(p, at, s, from) << i;
	}
	return v;
}

/* data has exactly the bytes that may be read. */
static void check_int(const uint8_t *data, struct step s, uint64_t at, struct md_buf *out)
{
	struct step steps[] = { s, { .code = STEP_END } };
	struct trace_layout l = { .steps = steps };
	uint64_t slot = 0, v = 0, wanted = read_slowly(data, at, &s);
	struct packet_run r = { .layout = &l, .bits = { .data = data, .at = at, .end = 8 * BYTES },
			 .out = out, .slots = &slot };

	md_buf_reset(out);
	CHECK(layout_run(&r, 0) == 0);
	CHECK(slot == wanted && r.bits.at == at + s.size);
	CHECK(out->len == s.bytes);
	v = md_load((const uint8_t *)out->data, s.bytes, MD_HOST_IS_BIG);
	CHECK(v == (s.bytes < 8 ? wanted & ((UINT64_C(1) << 8 * s.bytes) - 1) : wanted));
}

static void integers(void)
{
	struct md_buf out = MD_BUF_INIT;
	uint8_t *data = malloc(BYTES);

	for (unsigned int i = 0; data && i < BYTES; i++)
		data[i] = (uint8_t)(i * 151 + 0x9d);
	for (unsigned int n = 4; data && n < 4 * 65; n++) {
		uint8_t size = (uint8_t)(n / 4);
		struct step s = { .code = STEP_INT, .size = size, .align = 1, .slot = 0,
				  .bytes = size > 32 ? 8 : size > 16 ? 4 : size > 8 ? 2 : 1,
				  .is_signed = n & 1, .big_endian = n & 2 };

		for (uint64_t at = 0; at + size <= 8 * BYTES; at++)
			check_int(data, s, at, &out);
	}
	free(data);
	md_buf_deinit(&out);
}

int main(void)
{
	CASE(integers);
	return test_summary();
}
