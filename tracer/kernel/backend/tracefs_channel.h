/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A channel of the tracefs backend: one instance. tracefs_channel.c has its settings and events,
 * tracefs_buffers.c its buffers.
 */
#ifndef TRACER_BACKEND_TRACEFS_CHANNEL_H
#define TRACER_BACKEND_TRACEFS_CHANNEL_H

#include "tracer/kernel/backend/tracefs.h"

struct backend_channel {
	struct backend *b;
	struct cds_list_head node;      /* in b->channels */
	char path[300];                 /* below tracefs: instances/NAME */
	int dir;
	uint32_t cpus;
	uint64_t bytes;                 /* a CPU's buffer can hold */
	bool overwrite, tsc;
	struct kpage_layout layout;
	uint8_t *page;
	size_t page_size;
	char group[TRACEFS_GROUP_MAX];  /* of the probes for strings (tracefs_strings.c) */
	struct bpf_channel *bpf;        /* NULL: none; set once, with b->lock */
	/* by id of a record: the id of the tracepoint that it stands for; 0: the id itself */
	uint16_t *ids;
	/* Guards the rest. Held during a read of a buffer, and while the tracer is changed. */
	pthread_mutex_t lock;
	bool stacks[RECORD_STACKS];     /* each event is to have them */
	struct {
		/* trace_pipe_raw; -1: no such CPU */
		int raw;
		/* losses counted before the kernel's counters were reset */
		struct source_counts before;
		/*
		 * losses before an operation that may reset the counters; `discarded` includes the
		 * events in the buffer
		 */
		struct source_counts counted;
	} per_cpu[];
};

/* Reads what sizes the kernel chose: fills layout and page. 0 or -ENOMEM. */
int tracefs_read_sizes(struct backend_channel *c);
/* Sets the options for stacks that another program may have reset. */
void tracefs_restore_stacks(struct backend_channel *c);
int tracefs_open_buffers(struct backend_channel *c);
void tracefs_close_buffers(struct backend_channel *c);
/* Adds the losses so far to per_cpu.before: the kernel is about to reset its counters. */
void tracefs_keep_losses(struct backend_channel *c);

#endif
