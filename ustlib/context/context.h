/* SPDX-License-Identifier: MIT */
/*
 * ustlib/context/: contexts, the values that a channel has with each event besides its payload.
 *
 *	context.c       values of threads and processes, cached; what other rooms call
 *	app_context.c   contexts that the application registers
 *	otel_context.c  … or that its OpenTelemetry SDK publishes for a thread
 *	otel_process.c  … or for the process
 *	perf_context.c  performance counters
 */
#ifndef USTLIB_CONTEXT_H
#define USTLIB_CONTEXT_H

#include "ustlib/base/base.h"

/*
 * What a slot needs besides: contexts and a filter. Lies in memory that is only ever used for this
 * again, with the same capacity; a reader may see it change under it, so it checks each number that
 * it uses, and the slot's seq afterwards.
 */
struct placed_context {
	uint32_t kind;                  /* enum trail_context */
	uint32_t index;                 /* APP: of the name (app_context_index); PERF: type */
	uint64_t config;                /* PERF */
};

struct slot_extra {
	uint32_t capacity;              /* bytes after this header; constant */
	uint32_t context_count;
	uint32_t context_size;          /* bytes in an event; UINT32_MAX if that differs */
	uint32_t program_size;          /* 0: no filter */
	uint32_t pick_count;
	/* not 0: the contexts stay the same for a thread until context_changed(); unique */
	trail_u64 steady;
	struct slot_extra *next;             /* in the list of free ones */
	/* struct placed_context[context_count], the program, struct trail_pick_step[pick_count] */
	uint64_t data[];
};

/* ---- context.c, for the rooms above ---- */

/*
 * The contexts of one channel as this thread had them last, so that an event costs one copy of
 * them.
 */
struct context_block {
	trail_u64 id;                   /* extra.steady; 0: none. Stored last */
	uint32_t generation;
	uint8_t bytes[TRAIL__HEADROOM]; /* the contexts are at the end */
};
extern TRAIL_HIDDEN __thread struct context_block context_block
	__attribute__((tls_model("initial-exec")));
struct context_page {
	/* another number when something cached may have changed; 0: in a child of fork */
	uint32_t generation;
	int32_t vpid;                   /* 0: ask */
	/* exchange.c: a bit per lane that this process has an open question to */
	uint32_t questions;
	char rest[4096 - 12];
};
extern TRAIL_HIDDEN struct context_page context_page;
/* Fills the block; false if the contexts cannot be read in this way. */
bool TRAIL_HIDDEN context_refill(const struct slot_extra *x, const void *ip);
extern TRAIL_HIDDEN bool context_may_block;     /* TRAIL_ALLOW_BLOCKING */
/* Bytes of the kind's value in an event; 0: no such kind; UINT32_MAX: differs. */
uint32_t TRAIL_HIDDEN context_size(uint32_t kind);
/* Whether a thread's value stays the same until context_changed(). */
bool TRAIL_HIDDEN context_is_steady(uint32_t kind);
/*
 * Writes the contexts of x to `at` (room bytes). Returns their size; 0 if there is not enough room.
 * Async-signal-safe.
 */
size_t TRAIL_HIDDEN context_put(const struct slot_extra *x, uint8_t *at, size_t room,
				const void *ip);
struct filter_value;
/* for filters */
bool TRAIL_HIDDEN context_value(void *ip, uint32_t kind, const char *name,
				struct filter_value *out);
/* makes a place for the name; UINT32_MAX: no room */
uint32_t TRAIL_HIDDEN app_context_index(const char *name);
/* The value that the daemon has for this process; under the registration lock. */
void TRAIL_HIDDEN app_context_set(uint32_t index, const char *value);
/* what is cached does not hold any more, in all threads */
void TRAIL_HIDDEN context_changed(void);
void TRAIL_HIDDEN context_init(void);           /* from the constructor */
void TRAIL_HIDDEN context_forked(void);
/* this thread's values, for when they cannot be asked for */
void TRAIL_HIDDEN context_fetch(void);
/* The CPU as the process has it; NULL: the real one. Atomic; set by a plug-in (plugin.h). */
extern TRAIL_HIDDEN int (*plugin_getcpu)(void);

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

/* ---- otel_context.c ---- */

struct trail_value;
/* Looks for what the SDK publishes, if the name is one of those. Under the registration lock. */
void TRAIL_HIDDEN otel_context_find(const char *name);
/* This thread's value, as text; v stays as it is if there is none. Async-signal-safe. */
void TRAIL_HIDDEN otel_context_value(const char *name, struct trail_value *v);

/* ---- otel_process.c ---- */

/* The next hit looks for what the SDK publishes, if the name is one of those. */
void TRAIL_HIDDEN otel_process_find(const char *name);
/* Looks now, if a channel has one of the names. Under the registration lock. */
void TRAIL_HIDDEN otel_process_fetch(void);
/* In a child of fork: the mapping of the parent is not there. */
void TRAIL_HIDDEN otel_process_forked(void);
/*
 * The process's value, as text, of the two names that it has; false: the name is another one. Valid
 * during the hit. Async-signal-safe; keeps errno.
 */
bool TRAIL_HIDDEN otel_process_value(const char *name, struct trail_value *v);

#endif
