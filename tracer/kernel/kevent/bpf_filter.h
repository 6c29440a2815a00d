/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Filters as instructions of BPF programs of tracepoints: comparisons of integers of the record and
 * of $ctx.tid, pid and cpu_id with constants, and == and != of a text with a literal that has no
 * star, or one at its end; joined by && and ||.
 *
 * Register 6 has the tracepoint's data, whose integers are where the format has them. Register 8
 * and text_base lead to the record, for texts; text_base 0: the program has none. Conditions change
 * registers 0 to 5. Instructions and kernel: see bpf/code.h.
 */
#ifndef TRACER_KEVENT_BPF_FILTER_H
#define TRACER_KEVENT_BPF_FILTER_H

#include "tracer/kernel/bpf/code.h"
#include "tracer/kernel/kevent/kevent.h"

/* An integer whose value a program can load as the trace has it. */
struct bpf_integer {
	uint32_t offset, size;          /* bytes; the size of the value */
	bool is_signed;
};

bool bpf_find_integer(const struct kformat_field *f, struct bpf_integer *out);
void bpf_load_integer(struct bpf_code *code, int to, const struct bpf_integer *p);
/* Loads $ctx.tid, pid or cpu_id to register 0. */
void bpf_load_context(struct bpf_code *code, uint32_t context);

/* A text is compared up to this offset in the record. */
#define BPF_TEXT_OFFSET_MAX 12288u
#define BPF_LITERAL_MAX 200u            /* bytes of a literal */

/* Loads values in programs that have no record. The functions may change registers 0 to 5. */
struct bpf_loader {
	/* An integer, by the place that it would have in the record. */
	void (*load)(const void *arg, struct bpf_code *code, int to, const struct bpf_integer *p);
	/* As bpf_load_context. */
	void (*context)(const void *arg, struct bpf_code *code, uint32_t context);
	const void *arg;
};

/* Whether a program, which has the texts or not, can decide the whole filter for this event. */
bool bpf_filter_possible(const struct filter *f, const struct kformat *format, bool texts);
/*
 * Jumps to `no` if none of the filters is true. Conditions that a program cannot decide are left
 * out. loader NULL: register 6 leads to a record. 1: done; 0: nothing is left to decide, and
 * nothing was added; -ENOMEM.
 */
int bpf_filter(struct bpf_code *code, const struct filter *const *filters, size_t count,
	       const struct kformat *format, const struct bpf_loader *loader, int text_base,
	       int no);

#endif
