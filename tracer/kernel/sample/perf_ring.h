/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One event of perf_event_open(2) on one CPU, with the ring into which the kernel writes its
 * records. Private to sample/.
 *
 * Records are as perf_event_open(2) has them. Samples have PERF_RING_SAMPLE, and PERF_RING_STACK if
 * the event has them; other records end with a struct perf_trailer. The kernel writes the ring;
 * sizes are checked nevertheless.
 */
#ifndef TRACER_SAMPLE_PERF_RING_H
#define TRACER_SAMPLE_PERF_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tracer/abi/wide.h"

#define PERF_RING_SAMPLE \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU | \
	 PERF_SAMPLE_CALLCHAIN)
/* perf_regs.h of x86: the registers BX, BP, SP and IP, in this order */
#define SAMPLE_REGS (1u << 1 | 7u << 6)
#define PERF_RING_STACK (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

struct perf_sample {            /* the addresses of the callchain follow */
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t time, address;
	uint32_t cpu, unused;
	uint64_t count;
};

struct perf_trailer {           /* TID, TIME, ADDR (not in trailers), CPU */
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, unused;
};

struct perf_ring {
	int fd;                         /* -1: not open */
	struct perf_event_mmap_page *page;
	const uint8_t *data;
	size_t size, mapped;            /* of the data; with the page before them */
	uint64_t read;                  /* the records below this position were read */
	uint64_t latest;                /* for the caller: the greatest time of a record so far */
};

/*
 * Opens an event, which counts nothing yet, with a ring of at most `pages` pages (a power of two);
 * sets the members of attr that all have, and PERF_RING_STACK if attr->sample_stack_user is set. 0
 * or -errno; -ENODEV: there is no such CPU now.
 */
int perf_ring_open(struct perf_event_attr *attr, int cpu, size_t pages, struct perf_ring *out);
void perf_ring_close(struct perf_ring *r);
int perf_ring_enable(struct perf_ring *r, bool on);     /* 0 or -errno */
/*
 * Calls fn for each record that is complete now and was not read before. A record is at least a
 * header. It is in the ring, valid until its end is released, or a copy, valid during the call.
 */
struct perf_read {
	const struct perf_event_header *header;
	uint64_t end;                   /* its position */
	bool in_ring;
};
void perf_ring_read(struct perf_ring *r, void (*fn)(void *arg, const struct perf_read *record),
		    void *arg);
/* The kernel may write over what is below the position. */
void perf_ring_release(struct perf_ring *r, uint64_t end);

/* How the times of records become cycles of the TSC. mult 0: it is not known. */
struct perf_time {
	uint64_t zero;
	uint32_t mult;
	uint16_t shift;
};
struct perf_time perf_ring_time(const struct perf_ring *r);
static inline uint64_t perf_time_cycles(const struct perf_time *t, uint64_t ns)
{
	return multiply_divide(ns - t->zero, UINT64_C(1) << t->shift, t->mult);
}

#endif
