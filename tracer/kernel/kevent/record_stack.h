/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks in the kernel's buffers. With the options `stacktrace` and `userstacktrace` of an instance
 * the kernel writes a record with the addresses after the record of an event. An interrupt may
 * record its own events between the two. So events wait here for their stacks, and are passed on in
 * the order of the buffer.
 *
 * A stack belongs to the newest event that has the same flags, count of preemptions and thread, and
 * lacks it. An event stops to wait when it has all stacks, or when a newer one shows that the
 * kernel has left it: one of the same level (thread, softirq, hardirq, NMI) or of one below.
 *
 * No lock: one thread at a time uses an object.
 */
#ifndef TRACER_KEVENT_RECORD_STACK_H
#define TRACER_KEVENT_RECORD_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/kernel/kevent/kevent.h"

enum { RECORD_STACK_KERNEL, RECORD_STACK_USER, RECORD_STACKS };

#define RECORD_STACK_MAX 128u           /* addresses that are kept; then one of all ones follows */

struct record_stack {
	/* as many times 8 bytes, whatever the kernel's addresses have; perhaps not aligned */
	const uint8_t *addresses;
	uint32_t count;
};

struct record_stack_layout {            /* of one kind of stack; id 0: this kernel has none */
	uint16_t id;
	uint32_t at;                    /* of the first address */
	uint32_t count_at;              /* of their number, 4 bytes; 0: zeros follow the last one */
	uint32_t word;                  /* bytes of an address: 4 or 8 */
};

/* From the format of ftrace:kernel_stack or ftrace:user_stack. */
struct record_stack_layout record_stack_layout(const struct kformat *f);

struct record_stacks {
	struct record_stack_layout layouts[RECORD_STACKS];      /* by the caller */
	bool wanted[RECORD_STACKS];                             /* by the caller */
	/* Gets each event, with its stacks, which are valid until it returns. */
	void (*pass)(void *arg, uint64_t time, const uint8_t *record, size_t len,
		     const struct record_stack stacks[RECORD_STACKS]);
	void *arg;
	struct waiting_record *waiting; /* in the order of the buffer */
	size_t count, done;             /* done: the first ones, which were passed on */
	uint8_t *bytes;                 /* of the records and stacks */
	size_t used, room;
};

/* Takes a record: an event or a stack. If memory is short, passes an event on at once. */
void record_stacks_add(struct record_stacks *s, uint64_t time, const uint8_t *record, size_t len);
/* Whether an event may still get a stack. */
bool record_stacks_wait(const struct record_stacks *s);
/* Passes on all events, as they are. */
void record_stacks_flush(struct record_stacks *s);
void record_stacks_deinit(struct record_stacks *s);

#endif
