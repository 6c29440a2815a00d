/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of export/ that are made when they are opened: what the session holds, in the form of
 * another program.
 *
 *	export.c  one open: writes all events held to a file in memory (os/memory_file.h), which
 *	          counts as frozen memory
 *	row.c     one event as the values of its fields (metadata/value.h)
 *	csv.c     export/csv
 *	sql.c     export/sql; process_names.c: names of processes for it
 *	sqlite.c  export/trace.sqlite: executes the text of sql.c
 *	lket.c    export/lket.txt; lket_files.c: export/lket/; lket_kind.c: its formats (lket.h)
 *	files.c   the files of a directory (files.h)
 *	track.c   the events as tracks of threads and CPUs, with slices, for the next ones;
 *	          event_kind.c and track_owner.c are parts of it
 *	chrome.c  export/chrome.json
 *	perfetto.c  export/perfetto, in messages of protobuf.h
 *	flame.c   export/flame.svg, with flame.js in it, and export/flame.folded
 *	page.c    export/timeline.html; page.html is the page without events
 *	ltt.c     export/ltt/, a directory: its events; ltt_ids.c: their ids; ltt_xml.c: their
 *	          definitions (ltt.h)
 *
 * A form is a row of the table in export.c with functions that append to maker.out. tracer.h
 * declares the functions that the file system calls; this header is private to the room.
 *
 * Locks: none here. Each open belongs to its caller, who serializes its calls; session.exported is
 * atomic.
 */
#ifndef TRACER_EXPORT_EXPORT_H
#define TRACER_EXPORT_EXPORT_H

#include "metadata/buf.h"
#include "tracer/format/export/exports.h"
#include "tracer/format/export/row.h"
#include "tracer/base/os/memory_file.h"
#include "tracer/session/part.h"
#include "tracer/session/streams.h"

/* The sizes of the exports, as a part of a session (session/part.h). */
extern const struct session_part export_part;

/* One file while it is made. */
struct maker {
	struct session *s;      /* referenced; of `later`: by its owner */
	uint64_t limit;         /* the file has the events up to this time of the clock */
	struct md_buf out;      /* text that is not in the file yet */
	struct rows rows;       /* makes the rows */
	struct memory_file file;        /* counts as frozen memory of the session */
	int err;                /* -errno: the file cannot be made */
	uint64_t clock_offset;  /* of the session when the file was opened */
	uint64_t from;          /* the file has the events from this time of the clock on */
	struct merge_place *places;     /* where they begin, if from is not 0; owned */
	size_t place_count;
	struct maker *later;    /* of the events from a time on, or NULL (maker_halves) */
	struct memory_file rest;        /* follows `file` */
	struct stacks *stacks;  /* names of code addresses; NULL: maker_names was not called */
	uint32_t *done;         /* of the session (exporting), or NULL */
	unsigned int runs, run; /* how often the form reads the events; 0: once */
	size_t whole;           /* bytes of `out` up to the end of a statement (sql.c) */
	/* For maker_run: is called with its arg for each loss, in the order of events; or NULL. */
	void (*lose)(void *arg, const struct lost *l);
	bool lossy;             /* of maker_classes: losses are known */
	/* What takes the text in place of the file, or NULL; `writer` is its own. */
	void (*write)(struct maker *m);
	void *writer;
};

/* Holds the session's event classes; m->err says whether it could. */
void maker_begin(struct maker *m, struct stream_set *held, struct session *s);
/* Frees all but the file, and the reference to the session. */
void maker_end(struct maker *m, struct stream_set *held);
/* Moves m->out to the file, or to m->write. */
void maker_write(struct maker *m);
/*
 * Calls add() for each event up to m->limit, in the order of `text`. The row is valid during the
 * call. Ends early when m->err is set.
 */
void maker_run(struct maker *m, enum row_needs needs, void (*add)(void *arg, const struct row *r),
	       void *arg);
/*
 * Since when, in ns since the epoch, all rings have their events: a ring that is cut has lost older
 * ones. 0: none is cut.
 */
uint64_t maker_since(struct maker *m);
/*
 * Calls add() for the classes that events up to m->limit have, in the order of their first events.
 * The row has no values, time, host and CPU.
 */
void maker_classes(struct maker *m, void (*add)(void *arg, const struct row *r), void *arg);

/*
 * As maker_run, after maker_classes, by two threads at a time if the session's rings have many
 * events. *later is for the events after the time that divides them: add(later) may be called while
 * add(arg) runs and belongs to m->later; the two share the states of rows, which do not change.
 * What is appended to m->out afterwards is not at the end of the file.
 */
void maker_halves(struct maker *m, void (*add)(void *arg, const struct row *r), void *arg,
		  void *later);
/*
 * Prepares names of code addresses, if the session has callstacks. NULL: it has none, or m->err.
 * For functions that events of a program without callstacks name: always.
 */
struct stacks *maker_names(struct maker *m, bool always);

/* Each writes one file. Failures: m->err, or m->out.failed. */
void csv_make(struct maker *m);
void sql_make(struct maker *m);
void sqlite_make(struct maker *m);      /* with EXPORT_HAS_SQLITE */
void lket_make(struct maker *m);
void chrome_make(struct maker *m);
void perfetto_make(struct maker *m);
void flame_make(struct maker *m);
void folded_make(struct maker *m);
void page_make(struct maker *m);

#endif
