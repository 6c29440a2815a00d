/* SPDX-License-Identifier: MIT */
/* What the files of contexts share: context.c, app_context.c, perf_context.c. */
#ifndef USTLIB_CONTEXT_H
#define USTLIB_CONTEXT_H

#include "ustlib/lib.h"

#define COUNTERS 8

/* ---- perf_context.c: performance counters of one thread ---- */

struct counter {
	uint32_t type;
	int fd;                         /* -1: the kernel gives none */
	uint64_t config, event_id;
};

struct counters {
	uint32_t count;
	struct counter counter[COUNTERS];
};

/*
 * Opens the counter at the first read. Returns its value, or 0 if there is none. Async-signal-safe.
 */
uint64_t TRAIL_HIDDEN counters_read(struct counters *c, uint32_t type, uint64_t config);
void TRAIL_HIDDEN counters_close(struct counters *c);
/* Reads "TYPE:CONFIG" in hexadecimal. False: it is something else. */
bool TRAIL_HIDDEN counter_numbers(const char *s, uint32_t *type, uint64_t *config);

/* ---- app_context.c: contexts that the application registers ---- */

/*
 * Calls the application's function and writes its value to `at` (room bytes). Returns the size, or
 * 0 if there is not enough room. Async-signal-safe if the function is.
 */
size_t TRAIL_HIDDEN app_context_put(uint32_t index, uint8_t *at, size_t room);
/* The value by name, for filters. False: no value. */
bool TRAIL_HIDDEN app_context_filter_value(const char *name, struct filter_value *out);

#endif
