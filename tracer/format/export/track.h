/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events of a session as tracks: a track is a thread, or a CPU for events whose thread is not
 * known. On a track are slices, which a pair of events makes, and instants.
 *
 * The thread of an event is that of the context vtid or tid; else the one that the last
 * sched_switch of its CPU switched to; else the process of vpid or pid.
 *
 * Pairs are those of view/pair_rule.h. The handlers of interrupts have a track for each CPU. The
 * requests of a block device have tracks, too: as many as there are at a time. A slice that is open
 * when one below it ends has ended, too. An end without a begin is an instant.
 *
 * A counter belongs to a process (event_kind.c), a flow leads from the first wakeup of a thread to
 * the switch to it.
 *
 *	event_kind.c    an event class, by its names
 *	counter.c       the counters
 */
#ifndef TRACER_EXPORT_TRACK_H
#define TRACER_EXPORT_TRACK_H

#include "tracer/format/export/export.h"

#define TRACK_NAME_MAX 64
/* pids, and the tid of the first track: above each pid of Linux */
#define TRACK_CPUS (1 << 22)
#define TRACK_INTERRUPTS (TRACK_CPUS + (1 << 20))       /* tids of process TRACK_CPUS */
#define TRACK_DISKS (TRACK_CPUS + (2 << 20))
#define TRACK_LOSSES (TRACK_CPUS + (3 << 20))   /* a track for each stream that has some */

struct open_slice {
	uint64_t pair;          /* hash of the pair's name */
	uint64_t begin;         /* ns */
	uint32_t mark;          /* of the form */
	bool is_call;           /* a system call */
};

struct timeline {
	int32_t pid, tid;       /* pid 0: not known */
	uint32_t number;        /* from 0, in the order in which tracks are found */
	uint64_t flow;          /* of the wakeup after which the thread has not run; 0: none */
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
	uint64_t flow;          /* not 0: a flow of this number begins */
};

struct track_counter {
	uint32_t number;        /* from 0, in the order in which counters are found */
	int32_t pid;            /* of its process */
	bool described;
	struct text json, plain;        /* name; json: without quotes */
};

/* A switch of a CPU from one thread to another. */
struct cpu_switch {
	struct timeline *track; /* of the CPU, after the switch */
	bool was_running;       /* before it */
	const struct timeline *thread;  /* that runs now; NULL: none, or not known */
	uint64_t flow;          /* not 0: the flow of this number ends here */
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
	/* The event of a counter, once; then each of its counters, with one value. */
	void (*counted)(void *arg, const struct mark *k);
	void (*counter)(void *arg, const struct mark *k, struct track_counter *c,
			const struct md_value *value);
	/* A loss, on the track of its stream; it may begin before events that were shown. */
	void (*lose)(void *arg, struct timeline *t, const struct lost *l);
	bool json;              /* rows have JSON */
	bool close_open;        /* slices without an end are ended with the last event */
};

void tracks_run(struct maker *m, const struct track_form *form, void *arg);
/* The name of a process that stands for hardware; NULL: of another one. */
const char *track_process_name(const struct timeline *t);

#endif
