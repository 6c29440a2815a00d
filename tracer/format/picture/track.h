/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events of a session as tracks, for pictures: slices (view/slice/slice.h), instants, counters
 * and flows, with the names of threads and of their processes.
 *
 * A process has the name of its main thread, or, before that is known, the first one that one of
 * its threads had. A counter belongs to a process (event_kind.c), a flow leads from the first
 * wakeup of a thread to the switch to it.
 *
 *	event_kind.c    an event class, by its names
 *	track_owner.c   the counters and the processes
 *	cpu_runs.c      how long threads run, as far as it is known
 */
#ifndef TRACER_PICTURE_TRACK_H
#define TRACER_PICTURE_TRACK_H

#include "tracer/format/maker/maker.h"
#include "tracer/format/picture/picture.h"
#include "tracer/view/slice/slice.h"

#define TRACK_NAME_MAX 64
#define TRACK_LOSSES SLICE_OTHERS       /* a track for each stream that has some */

struct track_process {
	int32_t pid;            /* or SLICE_CPUS, SLICE_DISKS, TRACK_LOSSES */
	bool described;         /* with this name and group */
	uint32_t name_len, group_len;
	char name[TRACK_NAME_MAX];      /* characters; 0: none */
	char group[TRACK_NAME_MAX];     /* the cgroup; 0: not known */
};

struct timeline {
	struct slice_track slices;
	int32_t pid;            /* 0: not known */
	uint32_t number;        /* from 0, in the order in which tracks are described */
	uint64_t flow;          /* of the wakeup after which the thread has not run; 0: none */
	void *note;             /* of the form; freed with free() */
	bool known;             /* has a number */
	bool described;         /* with this name and process */
	bool running;           /* of a CPU: it runs a thread, and it is known how long */
	bool unknown;           /* of a CPU: it runs a thread, and it is not known how long */
	bool left_out;          /* of a thread: inclusion sets may leave it out */
	uint32_t name_len;
	char name[TRACK_NAME_MAX];      /* characters; 0: none */
};

/* The name of an event or of a slice. */
struct track_name {
	struct text json, plain;        /* json: without quotes */
	uint32_t number;        /* of the event's classes, from 0 */
};

/* A slice or an instant on its track. */
struct mark {
	struct timeline *track; /* a form changes its `note` alone */
	struct slice *slice;    /* that begins, ends or has no end */
	uint64_t time;          /* ns since the epoch */
	const struct track_name *name;  /* of the slice, or of the event */
	const struct track_name *event;
	const struct row *row;  /* NULL: a slice without an end */
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
	bool was_running, was_unknown;  /* before it */
	bool prev_left_out;     /* inclusion sets may leave out the thread that ran */
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
	/* Before the first of its tracks, and when its name or group has changed. */
	void (*process)(void *arg, const struct track_process *p);
	/* Before the first mark of a track, and when its name or process has changed. */
	void (*describe)(void *arg, const struct timeline *t);
	void (*begin)(void *arg, const struct mark *k);
	void (*end)(void *arg, const struct mark *k);
	/* The innermost slice has no end: another one ended, or began. */
	void (*cut)(void *arg, const struct mark *k);
	/* The mark is open after the last event. */
	void (*leave)(void *arg, const struct mark *k);
	void (*instant)(void *arg, const struct mark *k);
	void (*switched)(void *arg, const struct cpu_switch *w);
	/* The event of a counter, once; then each of its counters, with one value. */
	void (*counted)(void *arg, const struct mark *k);
	void (*counter)(void *arg, const struct mark *k, struct track_counter *c,
			const struct md_value *value);
	/* A loss, on the track of its stream; it may begin before events that were shown. */
	void (*lose)(void *arg, struct timeline *t, const struct lost *l);
	bool json;              /* rows have JSON */
};

/*
 * Runs through the events; twice where ends may be missing (slice.h). Returns how many begins were
 * dropped. Programs seldom forget an end: m->forgot says that one did, and what was made is to be
 * made again, with m->forgets.
 */
struct slices_dropped tracks_run(struct maker *m, const struct track_form *form, void *arg);

/*
 * The same step by step, for events that are still to come: no begin is dropped. NULL: m->err, or
 * no memory. Of the maker, only the session, err and the names of code addresses are used.
 */
struct tracks *tracks_begin(struct maker *m, const struct track_form *form, void *arg);
/* The next event, in the order of time. A failure is m->err. */
void tracks_add(void *tracks, const struct row *r);
void tracks_lose(void *tracks, const struct lost *l);
/* Frees it; returns what tracks_run does. */
struct slices_dropped tracks_end(struct tracks *tracks);

/* The process of a track: of a thread whose process is not known, itself. */
static inline int32_t track_pid(const struct timeline *t)
{
	return t->pid ? t->pid : t->slices.tid;
}

/* The slice around this one that is shown. NULL: there is none. */
static inline struct slice *track_outer(const struct timeline *t, struct slice *s)
{
	while (s > t->slices.open)
		if (!(--s)->dropped)
			return s;
	return NULL;
}

#endif
