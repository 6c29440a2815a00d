/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A channel of the tracefs backend: one instance. tracefs_channel.c has its settings and events,
 * tracefs_buffers.c its buffers, tracefs_sizes.c how large these are.
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
	uint8_t *page;                  /* of a drain: a sub-buffer */
	size_t page_size;               /* the most that one may have */
	char group[TRACEFS_GROUP_MAX];  /* of the probes for strings (tracefs_strings.c) */
	struct bpf_channel *bpf;        /* NULL: none; set once, with b->lock */
	/* by id of a record: the id of the tracepoint that it stands for; 0: the id itself */
	uint16_t *ids;
	/* Guards the rest. Held during a read of a buffer, and while the tracer is changed. */
	pthread_mutex_t lock;
	bool stacks[RECORD_STACKS];     /* each event is to have them */
	uint32_t data_size;             /* of a sub-buffer, without its header */
	uint32_t wanted_size;           /* that all records fit */
	int too_small;                  /* the kernel's error, if data_size is less */
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

/* Sets the options for stacks that another program may have reset. */
void tracefs_restore_stacks(struct backend_channel *c);
int tracefs_open_buffers(struct backend_channel *c);
void tracefs_close_buffers(struct backend_channel *c);
/* Adds the losses so far to per_cpu.before: the kernel is about to reset its counters. */
void tracefs_keep_losses(struct backend_channel *c);

/* ---- tracefs_sizes.c ---- */

/* Sets the sizes of the buffers of a new instance. 0, or -errno with a sentence. */
int tracefs_make_buffers(struct backend_channel *c, struct tr_err *err);
/* Reads what sizes the kernel chose, and makes c->page. 0 or -ENOMEM. */
int tracefs_read_sizes(struct backend_channel *c);
/*
 * Writes a file of the instance, which empties the buffers, and which the kernel may refuse while
 * they are open. Events in them count as lost: so it is done at most once or twice for a channel,
 * mostly before its first event.
 */
int tracefs_change_buffers(struct backend_channel *c, const char *file, const char *text);
/* Makes the sub-buffers larger if an event that is to be recorded needs that. */
void tracefs_make_room(struct backend_channel *c, const char *system, const char *event);

#endif
