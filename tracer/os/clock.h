/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trace clock: nanoseconds near CLOCK_MONOTONIC, from the TSC by one multiply and shift where the kernel's own clocksource
 * is the TSC, else CLOCK_MONOTONIC itself.
 *
 * The constants are measured once per boot and kept in the state directory (file `clock`), so that a restarted daemon
 * goes on with the same time and recordings before and after fit together.
 */
#ifndef TRACER_OS_CLOCK_H
#define TRACER_OS_CLOCK_H

#include <stdint.h>

#include "metadata/buf.h"

struct clock {
	uint64_t mult;          /* ns = ((unsigned __int128)tsc * mult >> 32) + base; 0: CLOCK_MONOTONIC */
	uint64_t base;          /* modulo 2^64 */
	uint64_t offset;        /* ns from the epoch to zero of this clock, measured with the constants */
	uint64_t stands;        /* what it shows for ever: where there is no daemon any more; 0: it runs */
	uint8_t uuid[16];       /* identifies the clock in metadata: one per boot */
};

/*
 * Reads `clock` below state_dir if it is of this boot (/proc/sys/kernel/random/boot_id), else measures and writes it.
 * Takes at most some 100 ms. Never fails for want of a file: it then only measures. TRAILFS_CLOCK=monotonic in the environment forces
 * CLOCK_MONOTONIC.
 */
int clock_open(struct clock *c, const char *state_dir);
/* The clock of the daemon that had the state directory, perhaps on another machine: it stands, after all that was recorded. */
void clock_recall(struct clock *c, int state_fd);
uint64_t clock_now(const struct clock *c);
/* What `offset` would be if it were measured now: another one after the system's clock was set. */
uint64_t clock_measure_offset(const struct clock *c);
/* A time of the kernel's buffers: of the TSC, or nanoseconds already. */
static inline uint64_t clock_convert(const struct clock *c, uint64_t time)
{
	return c->mult ? (uint64_t)((unsigned __int128)time * c->mult >> 32) + c->base : time;
}
/* "clock tsc 2596.000 MHz" or "clock monotonic" and why, one line. */
void clock_describe(const struct clock *c, struct md_buf *out);

/* CLOCK_REALTIME in ns since the epoch. Any thread; async-signal-safe. */
int64_t wall_clock(void);

#endif
