/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to count/. */
#ifndef TRACER_KERNEL_COUNT_INTERNAL_H
#define TRACER_KERNEL_COUNT_INTERNAL_H

#include <pthread.h>
#include <urcu/list.h>

#include "tracer/base/context/context.h"
#include "tracer/kernel/bpf/bpf.h"
#include "tracer/kernel/count/count.h"
#include "tracer/kernel/kevent/bpf_filter.h"
#include "tracer/kernel/kevent/transcode.h"

/* A value of a key begins with these, then has the items, each of a multiple of 8 bytes. */
struct count_key {
	uint32_t generation, event;     /* event: its index in the spec's formats */
};

enum { COUNT_KEY_BYTES = 256 };

struct count_event {
	struct kformat *format;         /* a reference */
	struct kcode *code;
	struct ksyms *symbols;
	const struct md_event *event;   /* of counts.class */
	/* Where a record has them; of an item that is a text: its bytes. */
	struct bpf_integer items[COUNT_KEY_MAX], numbers[COUNT_NUMBERS_MAX];
	int program, link;
};

/* The value of the only key of the map `control`. */
struct count_control {
	uint32_t on, generation;
	uint64_t left_out, left_out_before;     /* before: when the generation began */
	uint64_t missed_before;
	int64_t since;                          /* when it began, by CLOCK_REALTIME, ns */
};

struct counts {
	struct cds_list_head node;      /* in the list of all */
	struct keeper *keeper;
	uint64_t identity;
	const struct count_spec *spec;  /* while it is opened */
	struct count_item items[COUNT_KEY_MAX];         /* without the names of fields */
	bool item_is_context[COUNT_KEY_MAX];
	struct count_number numbers[COUNT_NUMBERS_MAX];
	size_t item_count, number_count;
	struct count_event events[COUNT_EVENTS_MAX];
	size_t event_count;
	uint32_t key_size, value_size;
	uint32_t item_at[COUNT_KEY_MAX], item_size[COUNT_KEY_MAX];      /* in a key */
	uint32_t number_at[COUNT_NUMBERS_MAX];          /* in a value */
	uint32_t keys, cpus;
	int map, control_map, zero_map;         /* zero: a value that is all zeros */
	struct count_control *control;          /* mapped */
	/*
	 * Guards walks of the keys: a removal by another thread would begin a walk again. A leaf.
	 * swept: no key is of an older generation than this.
	 */
	pthread_mutex_t walk;
	uint32_t swept;
	struct md_stream *class;
	struct context_list contexts;
};

/* ---- layout.c: 0, -EOPNOTSUPP, -ENOMEM ---- */

int count_layout(struct counts *c);
/* The stream class and the events in it. */
int count_make_class(struct counts *c);

/* ---- read.c ---- */

/* Events at which another BPF program ran, since the programs were loaded. */
uint64_t count_missed(const struct counts *c);
/* Removes the keys of generations before this one. Caller holds walk. */
void count_sweep(struct counts *c, uint32_t generation);

/* ---- program.c ---- */

void count_program(struct bpf_code *code, const struct counts *c, size_t event);

#endif
