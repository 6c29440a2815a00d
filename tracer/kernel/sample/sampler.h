/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracer/kernel/sample/: samples of what the CPUs execute, by performance events of the kernel.
 *
 *	sampler.h        (this file) opens the events of all CPUs, and gives what they recorded
 *	sampler.c        … their rings
 *	records.c        … in the order of time, with the mappings that name their addresses
 *	user_stack.c     … and the stacks of programs
 *	process_table.c  what is known of the processes (process_table.h)
 *	internal.h       the interface between them
 *	perf_ring.c      (perf_ring.h) one event on one CPU, with its ring
 *
 * Each CPU that is online has an event for each kind of samples, and one that records births and
 * mappings of processes. The kernel records them into rings of the daemon's memory; what does not
 * fit is lost and counted. sampler_follow() opens the events of a CPU that comes later.
 *
 * The kernel follows frame pointers, which most programs do not have. So samples of time and of
 * cycles bring a copy of the top of the program's stack, which unwind/ follows by the program's own
 * rules. A sample of each page fault would be too much to copy: these have frame pointers only.
 *
 * Locks: none here. The caller serializes the calls for one sampler.
 */
#ifndef TRACER_SAMPLE_SAMPLER_H
#define TRACER_SAMPLE_SAMPLER_H

#include <stdint.h>

#include "tracer/base/context/inclusion_set.h"
#include "tracer/base/err.h"
#include "tracer/base/os/clock.h"
#include "tracer/base/rule/sample.h"
#include "tracer/kernel/symbol/code_map.h"

struct sampler;

struct cpu_sample {
	enum sample_kind kind;
	uint32_t cpu;
	int32_t pid, tid;
	uint64_t time;                  /* of the trace clock, as all times here */
	uint64_t address;               /* SAMPLE_FAULTS: that was accessed */
	const uint64_t *kernel, *user;  /* addresses, the innermost first */
	uint32_t kernel_count, user_count;
};

/* Receives what a drain reads, in the order of time. */
struct sampler_sink {
	/*
	 * Whether the next function is to be called for the sample. Its stack of the program is by
	 * frame pointers: to find all of it takes longer.
	 */
	bool (*wants)(void *arg, const struct cpu_sample *s);
	void (*sample)(void *arg, const struct cpu_sample *s);
	/* Before a wanted sample: what its process mapped since the last one. */
	void (*mapping)(void *arg, int32_t pid, const struct code_mapping *m);
	/*
	 * Before the first wanted sample of a process whose mappings were not recorded: it existed
	 * before the sampler, or has the mappings of its parent (0: not known).
	 */
	void (*unknown)(void *arg, int32_t pid, int32_t parent);
	/* Samples that did not fit into a ring, or into memory. */
	void (*lost)(void *arg, uint32_t cpu, uint64_t samples);
	void *arg;
};

/*
 * Opens the events that record births and mappings. clock must live as long as the sampler. 0, or
 * -errno with a sentence.
 */
int sampler_open(uint32_t cpus, const struct clock *clock, struct sampler **out,
		 struct tr_err *err);
/*
 * From now on takes samples at these rates, which are as those of sample_wanted. Others than those
 * that change continue without a gap. 0, or -errno with a sentence: one kind is not sampled.
 */
int sampler_change(struct sampler *s, const uint64_t rates[SAMPLE_KINDS],
		   const struct sampler_sink *sink, struct tr_err *err);
/*
 * Checks the new rules on samples, and whether such can be taken here. 0, or -errno with a
 * sentence. Any thread.
 */
int sampler_check_rules(const struct rule_list *l, struct tr_err *err);
/* From now on only these processes, and those that they make. 0 or -ENOMEM. */
int sampler_track(struct sampler *s, const struct track *pids);
/*
 * Adds the rings to an epoll(7) that does not have them: a ring is readable when it has much. Their
 * number, or -errno.
 */
int sampler_watch(const struct sampler *s, int epoll);
/*
 * Opens the events of CPUs that came online since the last call, and closes those of CPUs that went
 * offline. True: there are new rings to watch. A CPU whose events cannot be opened is tried again
 * by the next call.
 */
bool sampler_follow(struct sampler *s, const struct sampler_sink *sink);
/* Passes on all that was recorded before `until`. */
void sampler_drain(struct sampler *s, uint64_t until, const struct sampler_sink *sink);
void sampler_close(struct sampler *s);  /* NULL is allowed */

#endif
