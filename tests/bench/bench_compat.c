/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail pthread */
/* bench_lttng.c, built against the headers that make LTTng-UST's trace points ours. */
#define BENCH_WAIT
#include "tests/bench/bench_lttng.c"
