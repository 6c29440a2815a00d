/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What fuzzers share: a random number that repeats, and an end with a reason. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

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

static inline void expect(bool ok, const char *what)
{
	if (ok)
		return;
	printf("FAILED: %s\n", what);
	exit(1);
}

#endif
