/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dates and times as text, in the daemon's time zone (TZ). */
#ifndef TRACER_BASE_TIMEFMT_H
#define TRACER_BASE_TIMEFMT_H

#include <stddef.h>
#include <stdint.h>

enum time_format {
	TIME_FORMAT_STATUS,     /* 2026-11-21T05:45:40+0000: status files */
	TIME_FORMAT_TRACE,      /* 20261121T054540+0000: trace environments, chunk archives */
	TIME_FORMAT_NAME,       /* 20261121-054540: names of traces and snapshots */
};

#define TIME_TEXT_MAX 32        /* bytes of any of them with the NUL */

/*
 * Writes the time `ns` (nanoseconds since the epoch) to `out`; as seconds since the epoch if the C
 * library cannot convert it. Any thread.
 */
void time_print(int64_t ns, enum time_format format, char out[TIME_TEXT_MAX]);

#endif
