/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events of a session as tracks: a track is a thread, or a CPU for events whose thread is not
 * known. On a track are slices, which a pair of events makes, and instants.
 *
 * The thread of an event is that of the context vtid or tid; else the one that the last
 * sched_switch of its CPU switched to; else the process of vpid or pid.
 *
 * A pair is two events of one thread whose names differ in their last word, begin and end or entry
 * and exit (web:load_begin, web:load_end; web:begin, web:end), or syscall_entry_X and
 * syscall_exit_X. A slice that is still open when one below it ends has ended, too. An end without
 * a begin is an instant.
 */
#ifndef TRACER_EXPORT_TRACK_H
#define TRACER_EXPORT_TRACK_H

#include "tracer/export/export.h"

#define TRACK_NAME_MAX 64
#define TRACK_CPUS (1 << 22)    /* pid of the CPUs; tid of the first: above each pid of Linux */

struct open_slice {
	uint64_t pair;          /* hash of the pair's name */
	uint64_t begin;         /* ns */
	uint32_t mark;          /* of the form */
};

struct timeline {
	int32_t pid, tid;       /* pid 0: not known */
	uint32_t number;        /* from 0, in the order in which tracks are found */
	void *note;             /* of the form; freed with free() */
	bool described;         /* with this name and process */
	bool running;           /* of a CPU: it runs a thread, and is not idle */
	uint32_t name_len;
	char name[TRACK_NAME_MAX];      /* characters; 0: none */
	struct open_slice *open;        /* owned */
	uint32_t depth, room;
};

/* The name of an event or of a slice. */
struct track_name {
	struct text json, plain;        /* json: without quotes */
	uint32_t number;        /* of the event's classes, from 0 */
};

/* A slice or an instant on its track. */
struct mark {
	struct timeline *track; /* a form changes its `note` alone */
	struct open_slice *slice;       /* begin and end: the innermost open one */
	uint64_t time;          /* ns since the epoch */
	const struct track_name *name;  /* of the slice, or of the event */
	const struct track_name *event;
	const struct row *row;  /* NULL: the event that ends the slice belongs to another */
};

/* A switch of a CPU from one thread to another. */
struct cpu_switch {
	struct timeline *track; /* of the CPU, after the switch */
	bool was_running;       /* before it */
	int64_t prev_tid, prev_prio, prev_state, next_tid, next_prio;
	const struct track_name *event;
	struct text prev_name, next_name;       /* bytes of any kind; may be absent */
	const struct row *row;
};

/* What a form does with them. arg: of tracks_run. Functions may be NULL. */
struct track_form {
	/* Before the first mark of an event with these classes; slice: empty if it has no pair. */
	void (*classes)(void *arg, const struct row *r, const struct track_name *event,
			const struct track_name *slice);
	/*
	 * Before the first mark of a track, and when its name or process has changed. The main
	 * thread of a process comes before its other threads.
	 */
	void (*describe)(void *arg, const struct timeline *t);
	void (*begin)(void *arg, const struct mark *k);
	void (*end)(void *arg, const struct mark *k);
	void (*instant)(void *arg, const struct mark *k);
	void (*switched)(void *arg, const struct cpu_switch *w);
	bool json;              /* rows have JSON */
	bool close_open;        /* slices without an end are ended with the last event */
};

void tracks_run(struct maker *m, const struct track_form *form, void *arg);
/* Whether the event is of a counter: it has one numeric field, `value`. */
bool track_is_counter(const struct row *r);

#endif
