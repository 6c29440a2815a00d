/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contexts in programs of tracepoints: what the thread is that runs when the event happens, as the
 * bytes that the trace has (base/context/kernel_context.h). Helpers of the kernel give some of
 * them; the others are members of its structures, whose places the kernel's types (BTF) have.
 *
 * No lock: a struct bpf_contexts does not change after it was made.
 */
#ifndef TRACER_KERNEL_BPF_CONTEXT_H
#define TRACER_KERNEL_BPF_CONTEXT_H

#include "tracer/base/context/context.h"
#include "tracer/base/err.h"
#include "tracer/base/probe/btf.h"
#include "tracer/kernel/bpf/code.h"

/* The kinds that programs can record on this kernel: bit N is enum trail_context N. */
uint64_t bpf_context_kinds(void);

enum { BPF_CONTEXT_STEPS = 6, BPF_STACK_DEPTH = 128 };

/* Places on the stack of a program: contexts use those below the first. */
enum { BPF_PLACE_CONTEXTS = -64, BPF_PLACE_STACKS = BPF_PLACE_CONTEXTS - 8 };

struct bpf_context {
	uint32_t kind, size;            /* size: of a stack, of its length field */
	/*
	 * Where it is: the offset of a member of the thread's structure, or of a pointer in it,
	 * then of a member of what the pointer leads to, and so on.
	 */
	uint32_t steps[BPF_CONTEXT_STEPS], step_count;
	int32_t add;                    /* to the number */
	/*
	 * The map with the performance counters of all CPUs, of TRAIL_CONTEXT_PERF. The caller of
	 * bpf_contexts_make sets it.
	 */
	int counter;
};

struct bpf_contexts {
	uint32_t fixed, most;           /* bytes, without and with the addresses of stacks */
	/* Any is a stack; any needs the thread, its ids in namespaces. */
	bool stacks, task, numbers;
	/* The thread's ids: struct pid, struct upid. */
	struct { uint32_t own[2], level, first, step, number, space, inum; } ids;
	uint32_t count;
	struct bpf_context items[];
};

/*
 * Finds where the kernel has these. types NULL: reads the kernel's. 0; -EOPNOTSUPP with a sentence:
 * programs cannot record one; -ENOMEM. The caller frees *out.
 */
int bpf_contexts_make(const struct context *items, size_t count, const struct btf *types,
		      struct bpf_contexts **out, struct tr_err *err);
/*
 * Writes them from the offset `at` of register 8 on; register 6 has the tracepoint's data. Adds the
 * bytes of stacks' addresses to register 8, and stores how many these are at BPF_PLACE_STACKS.
 * Changes registers 0 to 5.
 */
void bpf_contexts_put(struct bpf_code *code, const struct bpf_contexts *x, int at);

#endif
