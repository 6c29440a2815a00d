/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of performance counters, as LTTng and perf(1) have them, and their perf_event_open(2)
 * attributes.
 */
#ifndef TRACER_CONTEXT_PERFCOUNTER_H
#define TRACER_CONTEXT_PERFCOUNTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_counter {
	uint32_t type;          /* perf_event_attr.type and .config */
	uint64_t config;
};

/*
 * `name` without `perf:thread:`, of len bytes; also `raw:rN:NAME` with hexadecimal N. 0, -ENOENT,
 * or -EINVAL: bad raw.
 */
int perf_counter_find(const char *name, size_t len, struct perf_counter *out);
/* Tries to open the counter for a thread, or (cpu) for a CPU. 0, or the kernel's -errno. */
int perf_counter_probe(const struct perf_counter *c, bool cpu);
/* The i-th name of the table; NULL after the last. */
const char *perf_counter_name(size_t i);

#endif
