/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What fuzzers share: a random number that repeats, and an end with a reason. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t fuzz_state = 88172645463325252u;

/* seed: as in the command line; or NULL */
static inline void fuzz_seed(const char *seed)
{
	if (seed)
		fuzz_state ^= strtoull(seed, NULL, 0) * 0x9e3779b97f4a7c15u;
}

static inline uint64_t rnd(uint64_t below)
{
	fuzz_state ^= fuzz_state << 13;
	fuzz_state ^= fuzz_state >> 7;
	fuzz_state ^= fuzz_state << 17;
	return fuzz_state % below;
}

/* Rounds with the seeds from SEED on. The arguments of the program: [SECONDS [SEED]] */
static inline void fuzz_rounds(int argc, char **argv, void (*round_of)(uint64_t seed))
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 5);
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1, rounds = 0;

	do {
		round_of(seed++);
		rounds++;
	} while (time(NULL) < end);
	printf("%llu rounds\n", (unsigned long long)rounds);
}

static inline void expect(bool ok, const char *what)
{
	if (ok)
		return;
	printf("FAILED: %s\n", what);
	exit(1);
}

#endif
