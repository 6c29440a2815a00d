/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel domain needs of something that records kernel events: a small table of functions.
 * A backend knows tracepoints by system and name, and hands over records as the kernel's `format`
 * files describe them. It knows nothing of sessions.
 *
 * Functions return 0 or -errno, with a sentence where there is an err. A channel's configuring
 * functions (record, enable, track) are called with the tracer's lock held, as are probe_create and
 * probe_remove; drain and lost with the channel's own lock (kernel/kernel.h), never two of one kind
 * at once; function_check with none, since it may take long.
 */
#ifndef TRACER_BACKEND_BACKEND_H
#define TRACER_BACKEND_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metadata/buf.h"
#include "tracer/base/err.h"

struct backend;                 /* one backend, found usable */
struct backend_channel;         /* one channel's buffers in the kernel */
struct context;
struct dynamic_event;
struct track;

struct backend_geometry {
	uint64_t bytes;         /* per CPU */
	uint32_t cpus;          /* possible ones */
	bool overwrite;
	bool tsc;               /* times are the TSC's cycles; else CLOCK_MONOTONIC */
};

/* Events of one CPU that nobody will see, since the channel was made. */
struct backend_losses {
	/*
	 * recorded, then overwritten before they were read; those that `missed` gave are among them
	 */
	uint64_t overwritten;
	uint64_t discarded;     /* not recorded for want of room, or emptied out with a buffer */
};

/* What a drain gives, in the order of the buffer. */
struct backend_sink {
	void (*record)(void *arg, uint64_t time, const uint8_t *record, size_t len);
	/* Of the record that comes next, as in a trace. NULL: they are not wanted. */
	void (*contexts)(void *arg, const uint8_t *bytes, size_t len);
	/*
	 * That many were overwritten here before anybody read them. 0: some were, and `lost` will
	 * tell how many.
	 */
	void (*missed)(void *arg, uint64_t events);
	void *arg;
};

struct backend_ops {
	const char *name;
	/*
	 * owner: a word of [a-z0-9] that the next daemon for the same sessions has, too.
	 * -EOPNOTSUPP, -EACCES: cannot be used, `err` says why.
	 */
	int (*probe)(const char *owner, struct backend **out, struct tr_err *err);
	void (*destroy)(struct backend *b);
	/* What it cannot do, as a part of a line of `version`. */
	void (*describe)(const struct backend *b, struct md_buf *out);
	int (*list)(const struct backend *b, struct md_buf *out);       /* lines system:event */
	/* likewise, those with a probe of their own. NULL: it makes no difference */
	int (*compiled)(const struct backend *b, struct md_buf *out);
	/*
	 * Lines `system:event id`, of events that others may remove and make again, with another
	 * id.
	 */
	int (*ids)(const struct backend *b, struct md_buf *out);
	int (*format)(const struct backend *b, const char *system, const char *event,
		      struct md_buf *out);
	/*
	 * Events of our own (probe/dynamic_event.h), resolved and with the file open, in a group of
	 * events of which the caller has all. The names of those that the probe has, made now or
	 * before, separated by NUL. They are listed, and have formats, as tracepoints have.
	 */
	int (*probe_create)(struct backend *b, const char *group, const struct dynamic_event *d,
			    struct md_buf *names, struct tr_err *err);
	/* -EBUSY: enabled somewhere; -ENOENT */
	int (*probe_remove)(struct backend *b, const char *group, const char *name);
	/* of earlier daemons, too */
	int (*probes)(const struct backend *b, const char *group, struct md_buf *names);
	/*
	 * That there are functions of the name, which may have stars. -ENOENT; -EOPNOTSUPP:
	 * functions cannot be traced.
	 */
	int (*function_check)(const struct backend *b, const char *name, struct tr_err *err);
	/*
	 * Names of channels that there are in the kernel, separated by NUL: of any daemon, perhaps
	 * dead.
	 */
	int (*channels)(const struct backend *b, struct md_buf *names);
	/*
	 * adopt: of an earlier daemon, with what it recorded (-ENOENT: there is none); else made
	 * anew, recording nothing.
	 */
	int (*channel_open)(struct backend *b, const char *name, const struct backend_geometry *g,
			    bool adopt, struct backend_channel **out, struct tr_err *err);
	int (*channel_remove)(struct backend *b, const char *name);     /* of a dead daemon */
	void (*channel_close)(struct backend_channel *c, bool remove);
	/*
	 * What each record comes with, of a channel that has not recorded yet, or had these before.
	 * NULL: that is only what records tell, and who the daemon knows their threads to be
	 * (kernel/thread_events.c).
	 */
	int (*contexts)(struct backend_channel *c, const struct context *contexts, size_t count);
	int (*record)(struct backend_channel *c, bool on);
	/* 1; 0: it is not, whoever did that; -errno. NULL: nobody else can */
	int (*recording)(struct backend_channel *c);
	/*
	 * Names of files that others have changed, appended with commas: true if there are any.
	 * tracked: 1: the set of threads is not empty; 0: there is none; -1: it may be empty. NULL:
	 * nobody else can change anything; then there is no filter_text either.
	 */
	bool (*changed)(struct backend_channel *c, int tracked, struct md_buf *out);
	/* What `filter` has set, as a text. -errno */
	int (*filter_text)(struct backend_channel *c, const char *system, const char *event,
			   struct md_buf *out);
	/* event NULL: all of the system */
	int (*enable)(struct backend_channel *c, const char *system, const char *event, bool on);
	int (*enabled)(struct backend_channel *c, struct md_buf *out);  /* lines system:event */
	/*
	 * Of an event records only what this is true of; of no length: all. Replaces what was, with
	 * no gap. Made by kevent/kernel_filter.h: a text with a NUL behind it for the kernel's own
	 * filters, or where `programs` is set, a program. -ENOENT: no such event (with programs: it
	 * is not on). NULL: there are none.
	 */
	int (*filter)(struct backend_channel *c, const char *system, const char *event,
		      const char *filter, size_t len);
	bool programs;
	/*
	 * Records calls of the functions of these names, separated by blanks, as BACKEND_FUNCTION;
	 * "": none. Replaces what was set.
	 */
	int (*functions)(struct backend_channel *c, const char *names);
	/* Only these threads and what they start; NULL: all. */
	int (*track)(struct backend_channel *c, const uint32_t *tids, size_t count);
	/*
	 * Only who has an attribute (enum track_attr, above TRACK_PID) that is in the set. NULL: it
	 * cannot tell.
	 */
	int (*track_by)(struct backend_channel *c, int attr, const struct track *set);
	/* Takes out what the buffer of a CPU holds now, at most once its size. */
	int (*drain)(struct backend_channel *c, uint32_t cpu, const struct backend_sink *sink);
	int (*lost)(struct backend_channel *c, uint32_t cpu, struct backend_losses *losses);
};

/*
 * Listed, if functions can be traced: the event that they are recorded as, with the fields ip and
 * parent_ip.
 */
#define BACKEND_FUNCTION_SYSTEM "ftrace"
#define BACKEND_FUNCTION_EVENT "function"

extern const struct backend_ops tracefs_backend, module_backend;

#endif
