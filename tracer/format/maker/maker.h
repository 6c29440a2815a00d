/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What all forms of a session's events are made with: a run through the events that the session
 * holds, as rows, and a file in memory that takes the text.
 *
 *	maker.c  the run, in the order of `text`, by one thread or several; losses on the way
 *	row.c    one event as the values of its fields (metadata/value.h)
 *	names.c  names of code addresses
 *
 * A form is a function that gets a maker and appends to maker.out: those of picture/, which show
 * slices, and those of export/, which has the table of all forms.
 *
 * Locks: none here. A maker belongs to its caller; *maker.done is atomic.
 */
#ifndef TRACER_MAKER_MAKER_H
#define TRACER_MAKER_MAKER_H

#include "metadata/buf.h"
#include "tracer/base/os/memory_file.h"
#include "tracer/format/maker/row.h"
#include "tracer/session/streams.h"
#include "tracer/view/divide.h"

/* One file while it is made. */
struct maker {
	struct session *s;      /* referenced; of `later`: by its owner */
	uint64_t limit;         /* the file has the events up to this time of the clock */
	struct md_buf out;      /* text that is not in the file yet */
	struct event_rows rows;       /* makes the rows */
	struct memory_file file;        /* counts as frozen memory of the session */
	int err;                /* -errno: the file cannot be made */
	uint64_t clock_offset;  /* of the session when the file was opened */
	uint64_t from;          /* the file has the events from this time of the clock on */
	struct merge_place *places;     /* where they begin, if from is not 0; owned */
	size_t place_count;
	struct maker *later;    /* the parts after the first one, in order (maker_parts) */
	size_t later_count;
	bool continued;         /* another part has the events after the limit */
	/* Of maker_parts, until all parts are there: */
	struct merge *merge;
	struct begun {          /* of each stream; owned */
		bool alone;     /* the part itself tells what was overwritten before its events */
		bool known;     /* the part has events of it */
		int64_t events; /* of the ring, that are below what the part has and tells */
	} *begun;
	struct memory_file rest[DIVISION_MOST - 1];     /* follow `file`: of the later parts */
	struct stacks *stacks;  /* names of code addresses; NULL: maker_names was not called */
	uint32_t *done;         /* gets percent done and 1; NULL: not wanted */
	unsigned int runs, run; /* how often the form reads the events; 0: once */
	/*
	 * Of slices (picture/track.h): a begin that a program forgets to end was found after its
	 * slice was shown; and: look for them before slices are shown, which takes a run more.
	 */
	bool forgot, forgets;
	size_t whole;           /* bytes of `out` up to the end of a statement (sql.c) */
	/* For maker_run: is called with its arg for each loss, in the order of events; or NULL. */
	void (*lose)(void *arg, const struct lost *l);
	struct outages *outages;        /* of the streams (merge_losses.h); or NULL */
	bool replaced;          /* meanwhile the session got another input: the file has of both */
	bool lossy;             /* of maker_classes: there are losses, or there may be some soon */
	/* What takes the text in place of the file, or NULL; `writer` is its own. */
	void (*write)(struct maker *m);
	void *writer;
};

/* Holds the session's event classes; m->err says whether it could. */
void maker_begin(struct maker *m, struct stream_set *held, struct session *s);
/* Frees all but the file, and the reference to the session. -ESTALE: m->replaced. */
void maker_end(struct maker *m, struct stream_set *held);
/* Moves m->out to the file, or to m->write. */
void maker_write(struct maker *m);
/*
 * Calls add() for each event up to m->limit, in the order of `text`. The row is valid during the
 * call. Ends early when m->err is set.
 */
void maker_run(struct maker *m, enum row_needs needs, void (*add)(void *arg, const struct row *r),
	       void *arg);
struct merge;
/*
 * Calls m->lose with arg for the losses before the current event of cursor `number` of the merge,
 * or after its last one; these ended at `last` or later. The outage ends.
 */
void maker_losses(struct maker *m, struct merge *merge, uint32_t number, uint64_t last,
		  void *arg);
/*
 * Since when, in ns since the epoch, all rings have their events: a ring that is cut has lost older
 * ones. 0: none is cut.
 */
uint64_t maker_since(struct maker *m);
/* A stream of the session has events of this name, or may get some. */
bool maker_declares(struct maker *m, const char *event);
/*
 * Calls add() for the classes that events up to m->limit have, in the order of their first events.
 * The row has no values, time, host and CPU.
 */
void maker_classes(struct maker *m, void (*add)(void *arg, const struct row *r), void *arg);

/*
 * As maker_run, after maker_classes, by several threads at a time if the session's rings have many
 * events. args: for the first part and each of m->later. Calls of add() with different arguments
 * run at once, and append to the makers of their parts. The parts share the states of rows, which
 * do not change. What is appended to m->out afterwards is not at the end of the file.
 */
void maker_parts(struct maker *m, void (*add)(void *arg, const struct row *r), void *const *args);
/*
 * Prepares names of code addresses, if the session has callstacks. NULL: it has none, or m->err.
 * For functions that events of a program without callstacks name: always.
 */
struct stacks *maker_names(struct maker *m, bool always);

#endif
