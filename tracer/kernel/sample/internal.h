/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interface between sampler.c, records.c and user_stack.c. Private to sample/. */
#ifndef TRACER_SAMPLE_INTERNAL_H
#define TRACER_SAMPLE_INTERNAL_H

#include <sched.h>

#include "metadata/buf.h"
#include "tracer/kernel/sample/perf_ring.h"
#include "tracer/kernel/sample/process_table.h"
#include "tracer/kernel/sample/sampler.h"

#define PROCESSES SAMPLE_KINDS  /* the event that records births and mappings */
#define EVENTS (SAMPLE_KINDS + 1)

/* That was read, and not passed on yet. */
struct record {
	/*
	 * Records are passed on in the order of these two. Those of a ring keep the ring's order,
	 * so what is below `end` can be released with each of them: an earlier time than that of
	 * the record before it counts as the same.
	 */
	uint64_t order, number;
	uint64_t time;
	uint32_t cpu;
	uint32_t event;
	uint64_t end;           /* in the ring */
	struct perf_event_header *copy;         /* owned; NULL: `in_ring` is the record */
	const struct perf_event_header *in_ring;
};

struct sampler {
	const struct clock *clock;
	struct perf_time time;  /* mult 0: records have CLOCK_MONOTONIC */
	uint64_t ahead;         /* of CLOCK_MONOTONIC before the trace clock, modulo 2^64 */
	bool tracks;            /* only processes that are marked in the table */
	uint64_t rates[SAMPLE_KINDS];
	bool copies[SAMPLE_KINDS];      /* samples have PERF_RING_STACK */
	struct unwinder *unwinder;      /* NULL: frame pointers only */
	uint64_t spent;         /* ns of CPU time for rules of programs, in this drain */
	uint64_t user[UNWIND_FRAMES_MAX];       /* of the current sample */
	struct process_table processes;
	struct record *records;
	size_t count;
	uint64_t number;        /* of records so far */
	uint32_t cpus;
	cpu_set_t *online;      /* CPUs whose events are open */
	size_t online_size;
	struct perf_ring rings[];       /* EVENTS for each CPU */
};

static inline struct perf_ring *ring_of(struct sampler *s, uint32_t cpu, uint32_t event)
{
	return &s->rings[cpu * EVENTS + event];
}

/*
 * Finds the stack of the program by its own rules, of a sample whose callchain is in *out; `rest`
 * are the bytes after the callchain. Where nothing is gained, *out stays as it is.
 */
void sampler_unwind(struct sampler *s, struct sampled_process *p, const uint8_t *rest, size_t size,
		    struct cpu_sample *out);
/*
 * Reads the rings of an event into s->records. Samples with copies of stacks stay in their ring
 * until they are passed on, the others are copied: a burst of them needs its room soon.
 */
void sampler_read(struct sampler *s, uint32_t event, const struct sampler_sink *sink);
/* Of an event whose rings will be closed: what stays in them is copied, or counted as lost. */
void sampler_keep(struct sampler *s, uint32_t event, const struct sampler_sink *sink);

#endif
