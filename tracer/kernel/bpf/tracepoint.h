/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tracepoints whose arguments a program gets (BPF_TRACE_RAW_TP), which costs less than the record
 * that the kernel makes for other programs. The program makes that record: a table
 * (tracepoints.def) has an expression for each field. What does not agree with the kernel's types
 * and the event's format, a name, a size or a sign, is not found, and is recorded otherwise.
 *
 * No lock: a struct bpf_tracepoint does not change after it was made.
 */
#ifndef TRACER_KERNEL_BPF_TRACEPOINT_H
#define TRACER_KERNEL_BPF_TRACEPOINT_H

#include "tracer/kernel/bpf/bpf.h"
#include "tracer/kernel/bpf/expression.h"

enum { BPF_TRACEPOINT_FIELDS = 24 };

enum bpf_field_kind {
	BPF_FIELD_NUMBER,               /* of `size` bytes */
	BPF_FIELD_TEXT,                 /* `size` bytes of text */
	BPF_FIELD_STRING,               /* 4 bytes: place and length of a string in the record */
	BPF_FIELD_USER_STRING,          /* the same of a string in memory of the process */
};

struct bpf_field {
	uint8_t kind;
	uint8_t size;
	uint16_t offset;                /* in the record */
	struct bpf_expression value;
};

struct bpf_tracepoint {
	struct bpf_hook hook;           /* which programs are attached to */
	uint32_t strings;
	bool needs_pages;               /* see bpf_tracepoint_set_pages */
	uint32_t count;
	struct bpf_field fields[BPF_TRACEPOINT_FIELDS];
};

/* Whether the table has the event. */
bool bpf_tracepoint_known(const char *system, const char *event);
/*
 * Finds the event in the table and in the kernel's types; format: of its records in tracefs. 0;
 * -ENOENT; -ENOMEM. The caller frees *out.
 */
int bpf_tracepoint_find(const struct btf *types, const char *system, const char *event,
			const char *format, struct bpf_tracepoint **out);
/* What programs of this tracepoint are attached to; *proto: its arguments. 0: there is none. */
uint32_t bpf_tracepoint_type(const struct btf *types, const char *name, uint32_t *proto);
/* Adds a field whose expression is not in the table. 0 or -ENOENT. */
int bpf_tracepoint_add(struct bpf_tracepoint *t, const struct btf *types, uint32_t proto,
		       const struct bpf_field *like, const char *expression);
/* Before a program is made: what bpf_pages_find has found. */
void bpf_tracepoint_set_pages(struct bpf_tracepoint *t, uint64_t pages);
/* The number at this offset of the record; NULL: there is none. */
const struct bpf_field *bpf_tracepoint_number(const struct bpf_tracepoint *t, uint32_t offset);

#endif
