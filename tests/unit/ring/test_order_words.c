/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * test_order.c for processors that cannot store 16 bytes at once: the two words of a ring's tally
 * are values of their own.
 */
#ifndef TRAIL_STORES_WORDS
#define TRAIL_STORES_WORDS
#endif

#include "tests/unit/ring/test_order.c"
