/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracer/kernel/bpf/: programs that the kernel runs at its own events, by bpf(2). The daemon writes
 * the instructions itself, so it needs neither a compiler nor a library for BPF.
 *
 *   bpf.h      (this file) maps and programs in the kernel
 *   call.c     … by bpf(2) and perf_event_open(2)
 *   code.h     instructions, with labels and calls of the kernel's functions
 *   code.c     … and what they become
 *   support.c  what this kernel permits
 *   expression.h   values from the arguments of a tracepoint: text (expression.c,
 *                  expression_word.c), instructions (expression_code.c)
 *   rwbs.c         … the letters of block requests
 *   pages.c        … the numbers of pages
 *   tracepoint.h   … for each field of an event, by a table
 *   context.h  contexts of the thread, and stacks, in programs
 *
 * A program of a tracepoint runs on the CPU of the event, to its end; Linux 7.3 may run other
 * threads there meanwhile. The kernel runs no second program of a tracepoint on a CPU before the
 * first has ended; it counts such an event as missed. So the memory of one CPU in a map needs
 * neither atomic instructions nor a lock.
 *
 * No lock: descriptors belong to their callers. Any thread may call these functions.
 */
#ifndef TRACER_KERNEL_BPF_BPF_H
#define TRACER_KERNEL_BPF_BPF_H

#include <linux/bpf.h>
#include <stdint.h>

#include "tracer/base/err.h"
#include "tracer/kernel/bpf/code.h"

/* What a map is, see bpf(2). Sizes in bytes. */
struct bpf_map_spec {
	enum bpf_map_type type;
	uint32_t key_size, value_size, entries, flags;
	const char *name;               /* shown by tools; up to 15 of [A-Za-z0-9_.] */
};

/*
 * bpf(2) itself: the result or -errno. It lifts the limit of locked memory of the process if the
 * kernel counts maps and programs in it.
 */
long bpf_command(enum bpf_cmd cmd, union bpf_attr *attr);

/* A descriptor, close-on-exec, or -errno. */
int bpf_map_create(const struct bpf_map_spec *spec);
/* Reads, sets or removes the value of a key. 0 or -errno; -ENOENT: no such key. */
int bpf_map_get(int map, const void *key, void *value);
int bpf_map_set(int map, const void *key, const void *value);
int bpf_map_remove(int map, const void *key);
/*
 * The key that follows another one in the map's own order; key NULL: the first. -ENOENT: there is
 * none.
 */
int bpf_map_next(int map, const void *key, void *next);

/*
 * Loads a program. The kernel checks it first; -EACCES or -EINVAL with a sentence that has the end
 * of what the kernel says: it refuses the program. Returns a descriptor or -errno.
 */
int bpf_load(enum bpf_prog_type type, struct bpf_code *code, struct tr_err *err);
/* Where a program gets arguments, with their types. */
struct bpf_hook {
	uint32_t type;                  /* of bpf_tracepoint_type, or of btf_function_type */
	/* BPF_TRACE_RAW_TP; before and after a function: BPF_TRACE_FENTRY, BPF_TRACE_FEXIT */
	enum bpf_attach_type at;
};
/* The same for a program that gets the arguments of a tracepoint or of a function. */
int bpf_load_typed(const struct bpf_hook *hook, struct bpf_code *code, struct tr_err *err);
/* Loads a program that runs for each item of the iterator whose function has this type. */
int bpf_load_iterator(struct bpf_code *code, uint32_t type);
/*
 * Runs the program at each event of the tracepoint with this id (of tracefs), on all CPUs, until
 * the descriptor that this returns is closed. The kernel keeps the program as long.
 */
int bpf_attach(int program, uint32_t id);
/* The same for a program of bpf_load_typed, which knows its hook. */
int bpf_attach_typed(int program);
/*
 * Closes what bpf_attach returned, and the program, in another thread: the kernel waits some
 * milliseconds for each. Events run the program until then. -1: none.
 */
void bpf_detach(int link, int program);
/* Events at which a program did not run, because another one ran on the CPU. 0 or -errno. */
int bpf_missed(int program, uint64_t *events);

/* ---- support.c ---- */

/*
 * Whether the daemon may use maps that it can map and programs of tracepoints here. 0, or a
 * sentence with what is missing: -EOPNOTSUPP: the kernel lacks it; -EACCES: the daemon's rights do.
 */
int bpf_supported(struct tr_err *err);
/* Whether the running kernel has this version or a later one. True if it does not say. */
bool bpf_kernel_since(unsigned int major, unsigned int minor);
/*
 * Whether programs at system calls get stacks of the kernel; they do not on older kernels, which
 * give such a program the registers of the process. Makes a call of getppid, whose entry is the
 * tracepoint with this id. 1, 0 or -errno.
 */
int bpf_stacks_at_getppid(uint32_t id);

#endif
