/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Products of 64-bit numbers: known ones, and the same as the compiler's, where it has the type. */
#include "tests/lib/test.h"
#include "tracer/abi/wide.h"

static void known_products(void)
{
	struct wide p = wide_product(UINT64_MAX, UINT64_MAX);

	CHECK(p.high == UINT64_MAX - 1 && p.low == 1);
	p = wide_product(UINT64_C(0x123456789abcdef0), UINT64_C(0xfedcba9876543210));
	CHECK(p.high == UINT64_C(0x121fa00ad77d7422) && p.low == UINT64_C(0x236d88fe5618cf00));
	p = wide_sum(p, (struct wide){ 1, UINT64_MAX });
	CHECK(p.high == UINT64_C(0x121fa00ad77d7424) && p.low == UINT64_C(0x236d88fe5618ceff));
	CHECK(multiply_shift(UINT64_C(3) << 32, 7) == 21);
	CHECK(multiply_shift(UINT64_MAX, UINT64_C(1) << 32) == UINT64_MAX);
	CHECK(multiply_divide(UINT64_MAX, 1000, 1000) == UINT64_MAX);
	CHECK(multiply_divide(UINT64_C(10000000000), 1000000000, 3000000000) == 3333333333);
}

static void what_has_more_bits(void)
{
	CHECK(multiply_divide(UINT64_MAX, 2, 1) == UINT64_MAX);
	CHECK(multiply_divide(UINT64_C(1) << 63, 4, 2) == UINT64_MAX);
	CHECK(multiply_divide(5, 4, 0) == UINT64_MAX);
	CHECK(wide_quotient((struct wide){ 2, 0 }, 2) == UINT64_MAX);
	CHECK(wide_quotient((struct wide){ 0, 4 }, 0) == UINT64_MAX);
	CHECK(wide_quotient((struct wide){ UINT64_MAX - 1, UINT64_MAX }, UINT64_MAX) == UINT64_MAX);
}

#ifdef __SIZEOF_INT128__
/* Numbers of all lengths, also those of only ones, which carry most. */
static uint64_t next_number(uint64_t *seed)
{
	uint64_t n;

	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	n = *seed ^ *seed >> 29;
	return (n & 64 ? UINT64_MAX : n) >> (*seed >> 58);
}

static void the_same_as_the_compilers(void)
{
	unsigned int wrong = 0;
	uint64_t seed = 1;

	for (int i = 0; i < 300000; i++) {
		uint64_t a = next_number(&seed), b = next_number(&seed), by = next_number(&seed);
		unsigned __int128 n = (unsigned __int128)a * b;
		unsigned __int128 more = n + ((unsigned __int128)by << 64 | a);
		struct wide p = wide_product(a, b), sum = wide_sum(p, (struct wide){ by, a });
		uint64_t quotient = !by || n / by > UINT64_MAX ? UINT64_MAX : (uint64_t)(n / by);

		wrong += p.high != (uint64_t)(n >> 64) || p.low != (uint64_t)n;
		wrong += sum.high != (uint64_t)(more >> 64) || sum.low != (uint64_t)more;
		wrong += wide_quotient(p, by) != quotient;
		wrong += multiply_divide(a, b, by) != quotient;
		wrong += multiply_shift(a, b) != (p.high << 32 | p.low >> 32);
	}
	CHECK(wrong == 0);
}
#else
static void the_same_as_the_compilers(void)
{
	SKIP("the compiler has no numbers of 128 bits");
}
#endif

int main(void)
{
	CASE(known_products);
	CASE(what_has_more_bits);
	CASE(the_same_as_the_compilers);
	return test_summary();
}
