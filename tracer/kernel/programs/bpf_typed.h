/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which events programs record by arguments: events in the table (bpf/tracepoints.def) by those of
 * their tracepoint, and system calls by those of sys_enter and sys_exit; entries also by those of
 * the function that executes the call (__x64_sys_NAME).
 *
 * sys_enter and sys_exit make each call of the machine slower, also those that a channel does not
 * record: one program of a channel is attached to each of these two, and a call that it does not
 * record costs one jump there. A program at a function costs other calls nothing. But it takes the
 * kernel milliseconds to attach one, so a channel has them only for a few calls. A thread may be
 * preempted there, so they need the kernel's functions against that (Linux 6.10).
 *
 * The caller of all functions here holds the channel's lock.
 */
#ifndef TRACER_BACKEND_BPF_TYPED_H
#define TRACER_BACKEND_BPF_TYPED_H

#include "tracer/kernel/programs/bpf.h"

/* Offsets in the structure of a thread; 0: not known. */
struct bpf_task { uint16_t tid, pid; };

/* How programs get what they record of an event from arguments. */
struct bpf_typed {
	struct bpf_tracepoint *tracepoint;      /* owned */
	enum bpf_kind kind;
	bool exit;                      /* of a CALL: which side, which call */
	uint32_t number;
	/* Functions of the kernel that disable and enable preemption; 0: programs have it off. */
	uint32_t preempt[2];
	/* Of a CALL: not 0 for a call of 32 bits, which has no event. Else NULL. */
	const struct bpf_expression *foreign;
	const struct bpf_task *task;
};

/*
 * function: of a call, by its function. 0; -ENOENT: they cannot; -ENOMEM. The caller frees
 * out->tracepoint.
 */
int bpf_typed_find(struct bpf_channel *c, const char *event, const struct bpf_source *source,
		   bool function, struct bpf_typed *out);
/* What reads the texts of the call at its end: its fields are the texts. The same results. */
int bpf_typed_late(struct bpf_channel *c, const char *event, const struct bpf_source *source,
		   bool function, struct bpf_typed *out);
/* The kernel refused to attach a program to a function: no channel tries it again. */
void bpf_typed_no_functions(struct bpf_channel *c);
/* The channel needs the kernel's types no longer; they are freed if no other one does. */
void bpf_typed_done(struct bpf_channel *c);
struct bpf_calls_code {                 /* of a program at sys_enter or sys_exit */
	bool exit;
	int number;                     /* at sys_exit: its offset in the registers */
	uint32_t first;                 /* the call that is found with one comparison */
	int calls;                      /* map of the bodies, by number */
	int late_table, late_bodies;    /* maps of the channel; -1: not at sys_exit */
};
/* Register 0: the number of the call, from the program's data in register 1. */
void bpf_calls_load(struct bpf_code *code, const struct bpf_calls_code *s);
/*
 * What is attached to sys_enter or sys_exit, and to which type. 0; -ENOENT: this kernel has no such
 * programs; -ENOMEM.
 */
int bpf_typed_calls(struct bpf_channel *c, bool exit, uint32_t *type, struct bpf_calls_code *code);
/* The name of that program in the channel: #enter, #exit */
const char *bpf_typed_program(bool exit);
/* Side and number of the call that the event is about. False: the number is not known. */
bool bpf_typed_number(const char *event, bool *exit, uint32_t *number);

#endif
