/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trace clock: nanoseconds near CLOCK_MONOTONIC. If the kernel's clocksource is the TSC, the
 * clock is the TSC times a factor; otherwise it is CLOCK_MONOTONIC itself.
 *
 * The factor is measured once per boot and stored in the state directory (file `clock`), so that a
 * restarted daemon continues the same time and old recordings match new ones.
 */
#ifndef TRACER_OS_CLOCK_H
#define TRACER_OS_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "metadata/buf.h"
#include "tracer/abi/wide.h"

struct clock {
	/* ns = multiply_shift(tsc, mult) + base; 0: CLOCK_MONOTONIC */
	uint64_t mult;
	uint64_t base;          /* modulo 2^64 */
	/* ns from the epoch to zero of this clock, when it was calibrated */
	uint64_t offset;
	uint64_t stands;        /* not 0: the clock does not run and always shows this (recovery) */
	uint8_t uuid[16];       /* identifies the clock in metadata: one per boot */
};

/*
 * Reads `clock` below state_dir if it is of this boot (/proc/sys/kernel/random/boot_id), else
 * measures and writes it, which takes about 100 ms. If the file cannot be read or written, only
 * measures. The environment variable TRAILFS_CLOCK=monotonic forces CLOCK_MONOTONIC. Returns 0.
 */
int clock_open(struct clock *c, const char *state_dir);
/*
 * Recovery: the clock of the daemon that used the state directory, perhaps on another machine. It
 * does not run; it shows a time after all recorded events.
 */
void clock_recall(struct clock *c, int state_fd);
uint64_t clock_now(const struct clock *c);
/*
 * Reads the TSC and CLOCK_MONOTONIC at the same moment, to about 20 ns. Without a TSC *cycles is 0.
 */
void clock_read_pair(uint64_t *cycles, uint64_t *mono);
/* Measures how far a clock of the system is before this one: it differs after it was set. */
uint64_t clock_measure_offset(const struct clock *c, clockid_t id);
/* Converts a time of the kernel's buffers: TSC cycles, or nanoseconds if mult is 0. */
static inline uint64_t clock_convert(const struct clock *c, uint64_t time)
{
	return c->mult ? multiply_shift(time, c->mult) + c->base : time;
}
/* Appends a line: "clock tsc 2596.000 MHz", or "clock monotonic" with the reason. */
void clock_describe(const struct clock *c, struct md_buf *out);

/* CLOCK_REALTIME in ns since the epoch. Any thread; async-signal-safe. */
int64_t wall_clock(void);

static inline uint64_t clock_read(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* CLOCK_MONOTONIC in ns. Any thread; async-signal-safe. */
static inline uint64_t monotonic_now(void)
{
	return clock_read(CLOCK_MONOTONIC);
}

/* The CPU time of this thread in ns. Async-signal-safe. */
static inline uint64_t thread_cpu_time(void)
{
	return clock_read(CLOCK_THREAD_CPUTIME_ID);
}

#endif
