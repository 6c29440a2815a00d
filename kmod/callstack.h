/* SPDX-License-Identifier: GPL-2.0-only */
/* Callstacks of events: what context.c asks callstack.c for. */
#ifndef KMOD_CALLSTACK_H
#define KMOD_CALLSTACK_H

#include "kmod/trail.h"

#define TRAIL_STACK_ADDRESSES 128       /* if there are more, a last address of all ones says so */

/* Frames of user space are known here. */
#if defined(CONFIG_X86_64) || defined(CONFIG_ARM64) || defined(CONFIG_S390) || \
	(defined(CONFIG_RISCV) && defined(CONFIG_64BIT))
#define TRAIL_USER_STACKS 1
#endif

enum { TRAIL_STACK_KERNEL = 1, TRAIL_STACK_USER = 2 };

struct trail_stack {
	u32 count;
	unsigned long addresses[TRAIL_STACK_ADDRESSES + 1];
};

struct trail_stacks {
	const struct trail_stack *kernel, *user;
};

extern const struct trail_stack trail_no_stack;

/* Allocates the memory of all CPUs, at the first call. 0 or -ENOMEM. Caller holds trail_lock. */
int trail_stacks_init(void);
void trail_stacks_exit(void);
/*
 * The stacks of this event; those that are not in `wanted` (TRAIL_STACK_*) are empty. They are
 * valid until trail_stacks_release, which must follow. Preemption is off from the one to the other.
 */
struct trail_stacks trail_stacks_save(u32 wanted, struct trail_site site);
void trail_stacks_release(void);

#endif
