/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracer/format/foreign/: sessions that show a trace on disk (`input`). Views read its streams
 * through ring/input.h as they read rings; `trace/` shows the files of the input.
 *
 *   foreign.h    (this file) the setting `input`, as a part of a session (foreign.c)
 *   files.c      opens all files of the input with the rights of the session's owner
 *   streams.h    traces and streams of a foreign trace, from the model that its process sends
 *   child.h      the daemon's end of the process that reads the files (spawn.h starts and ends it)
 *   protocol.h   what both tell each other
 *   serve.c      the process: it calls the readers of ../import/
 *   confine.h    … and what it gives up before it reads anything
 *   model.h      a trace as bytes; checked when they are read
 *   fault.h      planted faults, for tests
 *
 * The daemon opens files and passes their descriptors; it parses nothing of them. What a process
 * answers is checked as what an application writes into its ring: a model by md_stream_add, events
 * by the decoder.
 *
 * Locks: tracer.lock guards which one a session shows, and session.input. Nothing of a struct
 * foreign changes after its open but what its process and its losses have. It has references: of
 * its session and of its traces, whose cursors may outlive the setting.
 */
#ifndef TRACER_FOREIGN_FOREIGN_H
#define TRACER_FOREIGN_FOREIGN_H

#include "tracer/format/import/import.h"
#include "tracer/session/part.h"

#define IMPORT_FILES_MAX 4096u
#define IMPORT_DEPTH_MAX 8u     /* of directories below the input */
#define FOREIGN_VERB "--import" /* the argument of a program that is to be foreign_main() */

extern const struct session_part import_part;

/* The setting `input` (base/setting.h) */
void input_show(const void *session, struct md_buf *out);
int input_store(void *session, const char *value, bool replace, struct tr_err *err);

struct child;
struct foreign_input;

struct foreign {
	/*
	 * The session that shows it, and callers of foreign_get: while there is one, it has a
	 * reference to each of its traces. Atomic.
	 */
	int users;
	int refs;               /* of all users together, and of each trace; atomic */
	struct session *s;      /* not referenced: who reads has a reference */
	char *path;             /* of the input */
	char *format;           /* name of the first format that found a trace */
	char *notes;            /* lines for `status`: what the formats say of the trace */
	struct import_file *files;      /* sorted by path */
	size_t file_count;
	struct child *process;        /* owned */
	struct trace **traces;          /* not referenced: each refers to this */
	size_t trace_count;
	struct stream *streams;         /* `trace` and `region` of each are not referenced */
	size_t stream_count;
	struct foreign_input *inputs;   /* of the streams, in their order; owned */
	struct region *region;          /* an empty ring for each stream; its key names them */
	int64_t charged;        /* bytes that count as frozen memory of s */
};

/* ---- files.c ---- */

/* Opens the files. 0 or -errno with a sentence. */
int foreign_open_files(struct foreign *f, const struct owner *owner, struct tr_err *err);
void foreign_close_files(struct foreign *f);

/* ---- for trace/ ---- */

/* The session's trace with a reference, opened if it is not yet; NULL: none, or *ret is -errno. */
struct foreign *foreign_get(struct session *s, int *ret);
void foreign_put(struct foreign *f);            /* NULL is allowed */

/* The main function of the process that reads a trace. Returns an exit status. */
int foreign_main(void);

#endif
