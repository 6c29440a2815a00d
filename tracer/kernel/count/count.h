/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracer/kernel/count/: events that BPF programs count by keys, in place of recording them. The
 * programs add to values of their CPU in a map in the kernel, so none is lost at any rate.
 *
 *   count.h         (this file) what other rooms call
 *   internal.h      what the files share
 *   layout.c        where the values of a key and the numbers are in a record, in the map
 *   program.c       the program of an event
 *   counts.c        the maps and programs in the kernel, and in the keeper
 *   read.c          keys as events, with their numbers
 *
 * A key is made of the bytes of fields as the record has them. To read it, they are put into an
 * empty record, which becomes an event as any record does. So a key looks as if the daemon had made
 * it of the event.
 *
 * The programs of all CPUs read a generation. It is part of each key; a new one makes all counts 0.
 *
 * Locks: a struct counts belongs to the holder of its user's lock; the list of all of them, which
 * the keeper's thread walks, has a lock of its own, a leaf.
 */
#ifndef TRACER_KERNEL_COUNT_COUNT_H
#define TRACER_KERNEL_COUNT_COUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "metadata/decode.h"
#include "tracer/base/err.h"
#include "tracer/base/filter/filter.h"
#include "tracer/base/keeper/keeper.h"
#include "tracer/kernel/kevent/kevent.h"

enum { COUNT_KEY_MAX = 8, COUNT_NUMBERS_MAX = 8, COUNT_EVENTS_MAX = 16 };

/* A value of a key. */
struct count_item {
	const char *field;              /* of the event, as readers see it; NULL: a context */
	uint32_t context;               /* enum trail_context, if field is NULL */
};

enum count_kind { COUNT_SUM, COUNT_LEAST, COUNT_MOST, COUNT_POWERS, COUNT_STEPS };

/* What is computed of a field. */
struct count_number {
	enum count_kind kind;
	const char *field;
	/*
	 * POWERS: 66 intervals: below 0, 0, 1, 2 to 3, 4 to 7 and so on. STEPS: below `from`,
	 * `slots` - 2 of `step` each, from `to` on.
	 */
	uint32_t slots;
	int64_t from, to, step;
};

struct count_spec {
	struct kformat *formats[COUNT_EVENTS_MAX];      /* borrowed; each event once */
	size_t format_count;
	const struct filter *filter;    /* NULL: none */
	struct count_item items[COUNT_KEY_MAX];
	size_t item_count;
	struct count_number numbers[COUNT_NUMBERS_MAX];
	size_t number_count;
	uint32_t keys;                  /* at most */
	uint32_t cpus;                  /* that the kernel may have */
	uint64_t bytes_max;             /* of the kernel's memory */
	uint64_t identity;              /* names it in the keeper; the same for the next daemon */
};

/* What a key has counted. */
struct count_result {
	uint64_t events;
	struct {
		long double value;      /* SUM, LEAST, MOST; of the others their sum */
		const uint64_t *slots;  /* POWERS, STEPS; valid during the call */
	} numbers[COUNT_NUMBERS_MAX];
};

struct counts;

/*
 * Begins to count, or (adopt) takes over what the keeper has of an earlier daemon. 0; -EOPNOTSUPP:
 * programs cannot do this, or are not permitted; -ENOENT: the keeper has no such counts; -E2BIG:
 * more memory than bytes_max; -ENOMEM or another -errno of the kernel. keeper NULL: a killed daemon
 * loses the counts.
 */
int counts_open(const struct count_spec *spec, struct keeper *keeper, bool adopt,
		struct counts **out);
/* keep: the next daemon has them. NULL is allowed. */
void counts_close(struct counts *c, bool keep);
/* Whether events count from now on. */
void counts_enable(struct counts *c, bool on);
/* All counts are 0 from now on. Any thread. */
void counts_clear(struct counts *c);
/* When they were 0 for the last time, ns since the epoch. */
int64_t counts_since(const struct counts *c);
uint64_t counts_memory(const struct counts *c);         /* bytes */
/* The stream class of the events that counts_read gives. */
const struct md_stream *counts_class(const struct counts *c);
/*
 * Calls fn for each key. *left_out: events for whose keys there was no room; *missed: events at
 * which another BPF program ran on the CPU. 0 or -errno.
 */
int counts_read(struct counts *c,
		void (*fn)(void *arg, const struct md_occurrence *o, const struct count_result *r),
		void *arg, uint64_t *left_out, uint64_t *missed);
/* Gives a keeper that takes the place of another one the descriptors of all counts. */
void counts_keep(void);

#endif
