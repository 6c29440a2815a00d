/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracer/format/import/: readers of traces on disk. They run in a process of their own, which
 * format/foreign/ starts; the daemon calls none of them.
 *
 *   import.h     (this file) what a format of traces uses and provides
 *   open.c       opens a trace of any format: the table of formats
 *   import.c     what the formats share
 *   read.c       reads its files
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
 * A format is a row of the table in open.c. Its open() looks through the files, makes a struct
 * md_trace for each trace that it knows, and adds streams. The files are open, and are read by
 * pread: a file that has another size or time than at first is an error, unless it has only grown.
 * What was added is not read.
 *
 * Everything in a trace is hostile until it was checked. Memory depends on the size of the
 * metadata, which is limited, and on the number of streams, not on that of events.
 *
 * Locks: none here. Nothing of a struct import changes after import_open(): any number of threads
 * may read its streams.
 */
#ifndef TRACER_IMPORT_IMPORT_H
#define TRACER_IMPORT_IMPORT_H

#include <stdio.h>
#include <time.h>

#include "metadata/model.h"
#include "tracer/base/err.h"
#include "tracer/base/ring/input.h"

struct import_file {
	char *path;             /* below the input: "ust/uid/0/64-bit/channel0_0" */
	int fd;
	uint64_t size;
	struct timespec changed;        /* as found at the open */
	uint32_t ends;                  /* a checksum of its first and last bytes */
};

struct import_trace {
	struct md_trace *md;    /* owned */
	uint32_t number;        /* in import.traces */
	bool kernel;            /* its events are of the kernel's domain */
	char path[320];         /* of its directory below the input: "ust/uid/0/64-bit" */
};

struct import_stream {
	const struct import_trace *trace;
	const struct md_stream *class;
	uint64_t instance;
	uint32_t cpu;
	const struct import_file *file; /* its first one */
	const struct input *in;         /* owned by the import */
};

struct import {
	const char *path;       /* of the input, for errors; not owned */
	const char *format;     /* name of the first format that found a trace */
	struct md_buf notes;    /* lines for `status`: what its formats say of the trace */
	const struct import_file *files;        /* sorted by path; not owned */
	size_t file_count;
	struct import_trace **traces;
	size_t trace_count;
	struct import_stream *streams;
	size_t stream_count;
	struct owned { void *p; void (*free)(void *p); } *owned;
	size_t owned_count;
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

/*
 * Reads the trace in im->files, of whatever format it is. 0; or -errno with a sentence. The caller
 * calls import_deinit in both cases, and keeps files and path until then.
 */
int import_open(struct import *im, struct tr_err *err);
void import_deinit(struct import *im);
/*
 * The sentence that a function of an input has reported since the last call in this thread; "":
 * none. It stays until the thread reads again.
 */
const char *import_reported(void);

/* ---- for formats, in open() ---- */

/* Adds a trace. Takes md over, also if it fails (NULL: no memory). */
struct import_trace *import_add_trace(struct import *im, struct md_trace *md, const char *path,
				      bool kernel);
/*
 * Adds a stream of a trace. in: owned by the caller (import_own). file: its first one, whose name
 * without a number is the channel in `counts`. cpu: MD_NO_CPU if the trace does not say. 0 or
 * -ENOMEM.
 */
int import_add_stream(struct import *im, const struct import_trace *t,
		      const struct md_stream *class, uint64_t instance, uint32_t cpu,
		      const struct import_file *file, const struct input *in);
/* The part of its path after the last slash. */
const char *import_file_name(const struct import_file *f);
/* Has p freed with the import. 0 or -ENOMEM; then p was freed. */
int import_own(struct import *im, void *p, void (*free)(void *p));
/* Sets err, or without one (err NULL) reports: "FILE: offset N: …". Returns -EINVAL. */
int import_fail(const struct import *im, struct tr_err *err, const struct import_file *f,
		uint64_t offset, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Reports a sentence (import_reported). */
void import_report(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/*
 * Appends the long header of an event (ring/input.h) to a piece; the contexts and fields follow.
 */
void import_put_header(struct md_buf *out, uint32_t id, uint64_t ts);

/* ---- read.c ---- */

/*
 * Reads n bytes; if n is 0, only checks the file. 0; -ESTALE: the file is not as it was; another
 * -errno; both are reported as by import_fail.
 */
int import_read(const struct import *im, struct tr_err *err, const struct import_file *f,
		uint64_t offset, void *buf, size_t n);
/* Of the first and the last bytes, up to the size that the file had at its open. */
uint32_t import_checksum_ends(const struct import_file *f);

#endif
