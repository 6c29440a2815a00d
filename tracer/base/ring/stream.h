/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces and streams. A trace is one metadata stream and the event streams below it, as in CTF. A
 * session has one trace per owner in the user domain: `ust/uid/UID/64-bit` (or
 * `ust/pid/NAME-PID-DATETIME`). A stream is one ring of one region in it.
 *
 * A session adds traces and streams until it is removed. They are reference counted: a reader that
 * holds one can continue to use it after rmdir.
 */
#ifndef TRACER_RING_STREAM_H
#define TRACER_RING_STREAM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "tracer/base/lock_order.h"
#include "metadata/model.h"
#include "tracer/base/ring/ring.h"

#define KERNEL_UID UINT32_MAX   /* trace.uid of the kernel's trace; not a user */

struct trace {
	int refs;               /* atomic */
	pthread_mutex_t lock;   /* guards adding to and printing of `md` */
	struct md_trace *md;
	char path[320];         /* below trace/: "ust/uid/0/64-bit" */
	char owner[32];         /* directory name in streams/: "UID", "PID" or "UID-32-bit" */
	char hostname[65];
	uint32_t uid, pid;      /* pid 0: per-user buffers */
	uint32_t word_bits;     /* of the applications: 32 or 64 */
	struct trace *next;     /* in the session's list; guarded by tracer.lock */
	uint32_t index;         /* number in the session */
	int64_t created;        /* ns since the epoch */
	char comm[17];          /* per-process: name of the process */
	/* The event log in the state directory (os/state_file.h), or -1; guarded by tracer.lock. */
	int log_fd;
	/* Of an imported trace: called before the trace is freed, with `import`; NULL: none. */
	void (*release)(void *import);
	void *import;
};

struct trace *trace_get(struct trace *t);
void trace_put(struct trace *t);        /* NULL is allowed */

struct stream_files;
struct input;

struct stream {
	struct trace *trace;            /* referenced */
	struct region *region;          /* referenced */
	uint32_t ring;                  /* index in the region */
	const struct md_stream *class;  /* lives as long as the trace */
	uint64_t instance_id;           /* CTF stream_instance_id; unique in the trace */
	uint32_t cpu;                   /* packet context's cpu_id */
	char channel[129];              /* name of the channel */
	char name[32];                  /* "cpu0", or "thread-PID-N" in a region of thread rings */
	char file[176];                 /* file name in the trace directory: "channel0_0" */
	/* Its files in the session's output (ring/stream_files.h), referenced; NULL: no output. */
	struct stream_files *log;
	bool streamed;                  /* a relay gets its packets */
	/*
	 * Of an imported trace (ring/input.h): views read this, and the ring is empty. It lives as
	 * long as the trace. NULL: the events are in the ring.
	 */
	const struct input *input;
};

/*
 * An array of streams in the order of merging: trace uuid, trace path, stream class id, instance
 * id.
 */
struct stream_set {
	struct stream *streams;
	size_t count;
};

void stream_set_deinit(struct stream_set *set);

/* Whether the session got another input, or lost it, between these two sets of its streams. */
static inline bool stream_set_replaced(const struct stream_set *old, const struct stream_set *new)
{
	const struct stream *a = old->count ? old->streams : NULL;
	const struct stream *b = new->count ? new->streams : NULL;

	return ((a && a->input) || (b && b->input)) && (!a || !b || a->region != b->region);
}

#endif
