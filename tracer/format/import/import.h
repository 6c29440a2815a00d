/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracer/format/import/: sessions that show a trace on disk (`input`). Views read its streams
 * through ring/input.h as they read rings; `trace/` shows the files of the input.
 *
 *   import.h     (this file) what a format of traces uses and provides
 *   import.c     the setting `input`, as a part of a session; the streams for views
 *   files.c      opens all files of the input with the rights of the session's owner
 *   ctf.h        CTF 1.8 and 2: the traces and streams of a directory (ctf.c), their event classes
 *                (ctf_model.c), packets and events (ctf_stream.c, ctf_sum.c)
 *   ctf_loss.c   … and what it says of events and packets that it does not have
 *                The metadata are trees of types (../tsdl/, ../ctf2/); …
 *   layout.h     … compiles types into steps (layout*.c) that read bits and write bytes
 *                (packet.c, packet_text.c)
 *   ltt.h        LTT 0.3 and 0.7: a reader of their files (ltt_*.c)
 *   ltt_input.c  … which makes traces and streams of directories
 *   lket.c       LKET's files stpd_cpuN
 *
 * A format is a row of the table in import.c. Its open() looks through the files, makes a struct
 * md_trace for each trace that it knows, and adds streams; import.c does the rest. All files stay
 * open, and are read by pread: a file that has another size or time than at first is an error,
 * unless it has only grown. What was added is not read.
 *
 * Everything in a trace is hostile until it was checked. Memory depends on the size of the
 * metadata, which is limited, and on the number of streams, not on that of events.
 *
 * Locks: none here. Nothing of a struct import changes after open(). tracer.lock guards
 * session.import and session.input. An import has references: of its session and of its traces,
 * whose cursors may outlive the setting.
 */
#ifndef TRACER_IMPORT_IMPORT_H
#define TRACER_IMPORT_IMPORT_H

#include <time.h>

#include "tracer/base/ring/input.h"
#include "tracer/session/part.h"

#define IMPORT_FILES_MAX 4096u
#define IMPORT_DEPTH_MAX 8u     /* of directories below the input */

extern const struct session_part import_part;

/* The setting `input` (base/setting.h) */
void input_show(const void *session, struct md_buf *out);
int input_store(void *session, const char *value, bool replace, struct tr_err *err);

struct import_file {
	char *path;             /* below the input: "ust/uid/0/64-bit/channel0_0" */
	int fd;
	uint64_t size;
	struct timespec changed;        /* as found at the open */
	uint32_t ends;                  /* a checksum of its first and last bytes */
};

struct import {
	/*
	 * The session that shows it, and callers of import_get: while there is one, it has a
	 * reference to each of its traces. Atomic.
	 */
	int users;
	int refs;               /* of all users together, and of each trace; atomic */
	struct session *s;      /* not referenced: who reads has a reference */
	char *path;             /* of the input */
	const char *format;     /* name of the first format that found a trace */
	struct md_buf notes;    /* lines for `status`: what its formats say of the trace */
	struct import_file *files;      /* sorted by path */
	size_t file_count;
	struct trace **traces;          /* not referenced: each refers to the import */
	size_t trace_count;
	struct stream *streams;         /* `trace` and `region` of each are not referenced */
	size_t stream_count;
	struct region *region;          /* an empty ring for each stream; its key names them */
	struct owned { void *p; void (*free)(void *p); } *owned;
	size_t owned_count;
	int64_t charged;        /* bytes that count as frozen memory of s */
	uint64_t used;          /* about the bytes of all types, which are limited together */
};

struct import_format {
	const char *name;       /* for status: "CTF 1.8" */
	/*
	 * Adds the traces of this format that it finds in im->files. 0, also if there is none; or
	 * -errno with a sentence (import_fail).
	 */
	int (*open)(struct import *im, struct tr_err *err);
};

extern const struct import_format ctf_format, ltt_format, lket_format;

/* ---- for formats, in open() ---- */

/*
 * Adds a trace. Takes md over, also if it fails (NULL: no memory). path: of its directory below the
 * input. kernel: its events are of the kernel's domain.
 */
struct trace *import_add_trace(struct import *im, struct md_trace *md, const char *path,
			       bool kernel);
/*
 * Adds a stream of a trace. in: owned by the caller (import_own). file: its first one, whose name
 * without a number is the channel in `counts`. cpu: MD_NO_CPU if the trace does not say. 0 or
 * -ENOMEM.
 */
int import_add_stream(struct import *im, struct trace *t, const struct md_stream *class,
		      uint64_t instance, uint32_t cpu, const struct import_file *file,
		      const struct input *in);
/* The part of its path after the last slash. */
const char *import_file_name(const struct import_file *f);
/* Has p freed with the import. 0 or -ENOMEM; then p was freed. */
int import_own(struct import *im, void *p, void (*free)(void *p));
/* Sets err, or without one (err NULL) reports to `error`: "FILE: offset N: …". Returns -EINVAL. */
int import_fail(const struct import *im, struct tr_err *err, const struct import_file *f,
		uint64_t offset, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/*
 * Appends the long header of an event (ring/input.h) to a piece; the contexts and fields follow.
 */
void import_put_header(struct md_buf *out, uint32_t id, uint64_t ts);

/* ---- files.c ---- */

/* Opens the files. 0 or -errno with a sentence. */
int import_open_files(struct import *im, const struct owner *owner, struct tr_err *err);
void import_close_files(struct import *im);
/*
 * Reads n bytes; if n is 0, only checks the file. 0; -ESTALE: the file is not as it was; another
 * -errno; both are reported as by import_fail.
 */
int import_read(const struct import *im, struct tr_err *err, const struct import_file *f,
		uint64_t offset, void *buf, size_t n);

/* ---- for trace/ ---- */

/* The session's import with a reference, opened if it is not yet; NULL: none, or *ret is -errno. */
struct import *import_get(struct session *s, int *ret);
void import_put(struct import *im);             /* NULL is allowed */

#endif
