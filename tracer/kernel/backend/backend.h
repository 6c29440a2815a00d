/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Backends record kernel events for the kernel domain (kernel/). Each is a table of functions,
 * struct backend_ops. A backend knows tracepoints by system and name, and returns records in the
 * layout that the kernel's `format` files describe. It knows no sessions.
 *
 *	tracefs.c           the kernel's own tracer, by its files: events, formats, probes
 *	tracefs_file.c      … small files of it
 *	tracefs_channel.c   … one channel, an instance: its settings and events
 *	tracefs_buffers.c   … the channel's per-CPU buffers
 *	tracefs_sizes.c     … their sizes
 *	tracefs_strings.c   … strings of system calls, by event probes
 *	tracefs_data.c      … bytes that system calls are given
 *	tracefs_boot.c      … an instance with the events of the last boot
 *	event_probe.c       defines and makes event probes
 *	kring_reader.c      rings of trail.ko, and of BPF programs
 *	module.c            trail.ko: events and formats
 *	module_channel.c    … one channel: what it records, its rings
 *	module_syscalls.c   … system calls: numbers, names, arguments
 *	module_captures.c   … what it captures through their pointers; formats
 *
 * A third one, tracefs and BPF programs, is a room of its own (programs/bpf.h).
 *
 * All functions return 0 or -errno; those with `err` set a sentence.
 *
 * Locks: the caller of a channel's configuring functions (record, enable, filter, functions, track,
 * track_groups, track_more, track_by), probe_create and probe_remove holds tracer.lock. The caller
 * of drain, lost and watch holds the channel's own lock (kernel/kernel.h). The caller of
 * function_check holds no lock, because it may take long.
 */
#ifndef TRACER_BACKEND_BACKEND_H
#define TRACER_BACKEND_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metadata/buf.h"
#include "tracer/base/err.h"
#include "tracer/base/facts.h"
#include "tracer/base/ring/source.h"
#include "tracer/kernel/kevent/record_stack.h"

struct backend;                 /* an opened backend */
struct backend_channel;         /* one channel's buffers in the kernel */
struct keeper;
struct context;
struct dynamic_event;
struct track;

/* What a channel is to be recorded by, as its file `backend` has it. */
enum backend_choice { BACKEND_AUTO, BACKEND_TRACEFS, BACKEND_BPF, BACKEND_MODULE };

struct backend_geometry {
	uint64_t bytes;         /* per CPU */
	uint32_t cpus;          /* number of possible CPUs */
	bool overwrite;
	bool tsc;               /* timestamps are TSC cycles; else CLOCK_MONOTONIC, ns */
	enum backend_choice by;
	bool boot;              /* of struct backend_boot: records are as boot_format says */
};

/* Receives what a drain reads, in the order of the buffer. */
struct backend_sink {
	void (*record)(void *arg, uint64_t time, const uint8_t *record, size_t len);
	/* Context fields of the next record, in trace layout. NULL: not wanted. */
	void (*contexts)(void *arg, const uint8_t *bytes, size_t len);
	/* The stacks of the next record; an empty one may be missing. NULL: not wanted. */
	void (*stacks)(void *arg, const struct record_stack stacks[RECORD_STACKS]);
	/* What the record of an earlier event lacks (KREC_LATE). NULL: the backend writes none. */
	void (*late)(void *arg, const uint8_t *record, size_t len);
	/* Events were overwritten at this place. 0: their number is unknown; `lost` counts them. */
	void (*missed)(void *arg, uint64_t events);
	/*
	 * The next record is of an event that the backend's filters could not decide
	 * (source_counts.undecided). NULL: the receiver does not count them.
	 */
	void (*undecided)(void *arg);
	/*
	 * The drain has passed on this many more of the records that the buffer counts as read
	 * (source_counts.read). NULL: the receiver does not count them.
	 */
	void (*taken)(void *arg, uint64_t records);
	void *arg;
};

/* A channel of the kernel's own, whose memory outlives a boot. */
struct backend_boot {
	char name[256];
	uint64_t bytes;         /* per CPU */
	uint64_t events;        /* that it holds */
	bool lacks_first;       /* of CPUs that recorded, the first is not one */
	bool recording;         /* since this boot began: what it holds is of both boots */
};

struct backend_ops {
	const char *name;
	/*
	 * owner: a word of [a-z0-9] that is the same for the next daemon of these sessions.
	 * -EOPNOTSUPP or -EACCES: the backend cannot be used; err says why.
	 */
	int (*probe)(const char *owner, struct backend **out, struct tr_err *err);
	void (*destroy)(struct backend *b);
	/*
	 * The keeper that holds descriptors of channels from now on, also those that channels have
	 * already; NULL: there is none. Any thread. NULL: the kernel itself keeps all channels.
	 */
	void (*keep)(struct backend *b, struct keeper *k);
	/* Appends what the backend cannot do, for a line of `version`. */
	void (*describe)(const struct backend *b, struct md_buf *out);
	int (*list)(const struct backend *b, struct md_buf *out);       /* lines system:event */
	/*
	 * Lines system:event of events that the backend's own probes can record: compiled_as[1] is
	 * how they are called, [0] how the others are recorded. NULL: no event has one.
	 */
	int (*compiled)(const struct backend *b, struct md_buf *out);
	const char *compiled_as[2];
	/*
	 * Lines `system:event id` of events that other programs may remove and make again with
	 * another id.
	 */
	int (*ids)(const struct backend *b, struct md_buf *out);
	int (*format)(const struct backend *b, const char *system, const char *event,
		      struct md_buf *out);
	/*
	 * Makes a dynamic event (probe/probe.h; resolved, its file open) in a group that
	 * belongs to the caller. Appends the names of the event's probes, new or existing, each
	 * with a NUL. They are listed and have formats like tracepoints.
	 */
	int (*probe_create)(struct backend *b, const char *group, const struct dynamic_event *d,
			    struct md_buf *names, struct tr_err *err);
	/* Whether the kernel has probes at its own functions (kprobe:), and in programs. */
	bool (*has_kprobes)(const struct backend *b);
	bool (*has_uprobes)(const struct backend *b);
	/* Whether programs can define events of the system user_events. NULL: not known. */
	bool (*has_user_events)(const struct backend *b);
	/* -EBUSY: the probe is enabled in some instance; -ENOENT */
	int (*probe_remove)(struct backend *b, const char *group, const char *name);
	/* Names of all probes of the group, also of earlier daemons. */
	int (*probes)(const struct backend *b, const char *group, struct md_buf *names);
	/*
	 * Checks that the kernel has functions of this name or pattern (`*`). -ENOENT; -EOPNOTSUPP:
	 * the backend cannot trace functions.
	 */
	int (*function_check)(const struct backend *b, const char *name, struct tr_err *err);
	/* Names of all channels in the kernel, of running and dead daemons, each with a NUL. */
	int (*channels)(const struct backend *b, struct md_buf *names);
	/*
	 * adopt: opens an earlier daemon's channel with its records (-ENOENT: there is none); *err
	 * has a sentence after success, too, if some of them are lost. Else makes a channel that
	 * does not record yet; -EOPNOTSUPP: not by what the geometry says.
	 */
	int (*channel_open)(struct backend *b, const char *name, const struct backend_geometry *g,
			    bool adopt, struct backend_channel **out, struct tr_err *err);
	/*
	 * Whether the format has this field as a text, but records of a channel with this choice
	 * have its address. NULL: never.
	 */
	bool (*lacks_text)(const struct backend *b, enum backend_choice by, const char *system,
			   const char *event, const char *field);
	int (*channel_remove)(struct backend *b, const char *name);     /* a dead daemon's */
	void (*channel_close)(struct backend_channel *c, bool remove);
	/*
	 * Sets the context fields that each record gets. The channel has not recorded yet, or has
	 * these contexts already. 1: its records do not get them, because they come from records,
	 * the daemon's thread table (kernel/thread_events.c) and /proc. NULL: so it always is.
	 * An error need not have a sentence.
	 */
	int (*contexts)(struct backend_channel *c, const struct context *contexts, size_t count,
			struct tr_err *err);
	/*
	 * The contexts that the backend can record, in addition to what the daemon adds: bit N is
	 * enum trail_context N. NULL: all, if there is `contexts`, else none.
	 */
	uint64_t (*context_kinds)(const struct backend *b);
	/*
	 * From now on, each record has these stacks, which backend_sink.stacks gets. The channel
	 * has not recorded yet, or has these stacks already. NULL: `contexts` sets them.
	 */
	int (*stacks)(struct backend_channel *c, bool kernel, bool user);
	int (*record)(struct backend_channel *c, bool on);
	/*
	 * 1: records; 0: does not, also if another program stopped it; -errno. NULL: no other
	 * program can stop it.
	 */
	int (*recording)(struct backend_channel *c);
	/*
	 * Appends the names of files that other programs changed, separated by commas; true if
	 * there are any. *threads: whether the set of tracked threads is one of them. tracked: 1: a
	 * set of threads is tracked; 0: none; -1: the set may be empty. NULL: other programs can
	 * change nothing; then filter_text is NULL as well.
	 */
	bool (*changed)(struct backend_channel *c, int tracked, struct md_buf *out, bool *threads);
	/* The text that `filter` has set. */
	int (*filter_text)(struct backend_channel *c, const char *system, const char *event,
			   struct md_buf *out);
	/* The channel is to record this many events of the system. NULL: it does not matter. */
	void (*expect)(struct backend_channel *c, const char *system, size_t events);
	/* event NULL: all events of the system */
	int (*enable)(struct backend_channel *c, const char *system, const char *event, bool on);
	/* Why the last `enable` failed; no sentence: there is only its error. NULL: never one. */
	void (*why)(struct backend_channel *c, struct tr_err *out);
	/*
	 * What events that were enabled since the last call lack because the process or the machine
	 * is short of something, and of what; no sentence: nothing. NULL: never.
	 */
	void (*lacking)(struct backend_channel *c, struct tr_err *out);
	int (*enabled)(struct backend_channel *c, struct md_buf *out);  /* lines system:event */
	/*
	 * Records only those events of this type for which the filter is true; len 0: all. Replaces
	 * the old filter without a gap. kevent/kernel_filter.h makes the filter: a NUL-terminated
	 * text for the kernel's own filters, or, with `programs`, a program. -ENOENT: no such event
	 * (with `programs`: it is not enabled). NULL: filters are not supported.
	 */
	int (*filter)(struct backend_channel *c, const char *system, const char *event,
		      const char *filter, size_t len);
	bool programs;
	/*
	 * Whether `filter` takes the filters of the rules themselves for this event, as text, a
	 * line each, of which one must be true. NULL: for none.
	 */
	bool (*filters_rules)(struct backend_channel *c, const char *system, const char *event);
	/*
	 * Records calls of the functions with these names, separated by blanks, as
	 * BACKEND_FUNCTION; "": none. Replaces the old list.
	 */
	int (*functions)(struct backend_channel *c, const char *names);
	/* Records only these threads and their descendants; NULL: all threads. */
	int (*track)(struct backend_channel *c, const uint32_t *tids, size_t count);
	/*
	 * Before track(), and while the channel records: other threads are recorded as well, while
	 * they are in one of these control groups, and what these start. NULL: no others. Returns
	 * how many of the groups the backend decides about; the others are left to track().
	 * -errno: as before. NULL: of none.
	 */
	int (*track_groups)(struct backend_channel *c, const struct track *set);
	/* Adds threads to a set that track() has made, while the channel records. */
	int (*track_more)(struct backend_channel *c, const uint32_t *tids, size_t count);
	/*
	 * Records only threads whose attribute (enum track_attr, above TRACK_PID) is in the set.
	 * NULL: not supported.
	 */
	int (*track_by)(struct backend_channel *c, int attr, const struct track *set);
	/* Passes on what the buffer of a CPU holds now, at most its size once. */
	int (*drain)(struct backend_channel *c, uint32_t cpu, const struct backend_sink *sink);
	/* What the buffer of a CPU has counted: losses, and records that were read. */
	int (*lost)(struct backend_channel *c, uint32_t cpu, struct source_counts *losses);
	/* What the channel's status says of it. NULL: nothing. */
	void (*note)(struct backend_channel *c, struct facts *out);
	/*
	 * Adds the files of the buffers to an epoll(7): they are readable while there are records.
	 * Same locking as drain(). Returns the number of files or -errno. NULL: no file wakes.
	 */
	int (*watch)(struct backend_channel *c, int epoll);
	/* The first one by name. -ENOENT: there is none. NULL: the backend has no such channels. */
	int (*boot_find)(const struct backend *b, struct backend_boot *out);
	/* The formats of its records, which may differ from those of `format`. */
	int (*boot_format)(const struct backend *b, const char *system, const char *event,
			   struct md_buf *out);
	/* Empties it, and has it record from now on, with CLOCK_MONOTONIC. */
	int (*boot_record)(const struct backend *b, const char *name);
};

/*
 * The event under which function calls are recorded, with the fields ip and parent_ip. It is listed
 * if the backend can trace functions.
 */
#define BACKEND_FUNCTION_SYSTEM "ftrace"
#define BACKEND_FUNCTION_EVENT "function"

/*
 * The system of entries of system calls with the bytes that these are given, as write(2) is: events
 * with the names of the entries in the system `syscalls`, and the field `data`. They are listed if
 * the backend can record them.
 */
#define BACKEND_DATA_SYSTEM "syscalls_data"

extern const struct backend_ops tracefs_backend, module_backend;
extern const struct backend_ops bpf_backend;    /* of programs/ */

#endif
