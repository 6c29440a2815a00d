/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads traces of LTT 0.3 and 0.7.
 *
 *	ltt.h        (this file) the interface
 *	ltt.c        opens a directory: its facilities, event classes and streams
 *	ltt_block.c  reads blocks, and converts their events
 *	ltt_parse.c  … the definitions of eventdefs/ as types of the model
 *	ltt_tag.c    … their tags (ltt_tag.h)
 *	ltt_private.h  what these files share
 *
 * The caller (ltt_input.c) opens the files and closes them afterwards. Everything in them is
 * hostile until it was checked. Memory depends on the size of the definitions, which is limited,
 * and on the number of files, not on that of events. A last block that the file has only a part of
 * is read up to the last whole event.
 *
 * Locks: none here. Nothing of a struct ltt_trace changes after ltt_open(): any number of threads
 * may read.
 */
#ifndef TRACER_IMPORT_LTT_H
#define TRACER_IMPORT_LTT_H

#include "metadata/buf.h"
#include "metadata/model.h"
#include "tracer/base/err.h"

struct ltt_file {
	const char *path;       /* below the trace's directory: "control/facilities_0" */
	int fd;
	uint64_t size;
};

/* The events of one file that have the same contexts, in the order of their times. */
struct ltt_stream {
	const struct ltt_file *file;
	const struct md_stream *class;
	uint32_t cpu;
	uint32_t number;        /* of the class */
};

/*
 * A place before an event: the offset of a block, that of an event in it (0: the first one), the
 * cycles of the event before. All 0: the beginning of the stream.
 */
struct ltt_place { uint64_t block, within, cycles; };

struct ltt_trace;

/*
 * Opens the trace whose files these are; they must remain until ltt_close. 0 or -errno with a
 * sentence: file, offset, what was expected.
 */
int ltt_open(const struct ltt_file *files, size_t count, struct ltt_trace **out,
	     struct tr_err *err);
void ltt_close(struct ltt_trace *t);                    /* NULL is allowed */
/* The event classes; clock_offset is 0: times are ns since the epoch. Lives as long as t. */
const struct md_trace *ltt_model(const struct ltt_trace *t);
/* The same; the caller destroys it. After that, only ltt_close(t) may be called. */
struct md_trace *ltt_take_model(struct ltt_trace *t);
size_t ltt_streams(const struct ltt_trace *t, const struct ltt_stream **streams);
/*
 * Appends a line for each load of a facility, in the order of time: what the core facility's events
 * say. They are not among the events that are read.
 */
void ltt_describe(const struct ltt_trace *t, struct md_buf *out);
/*
 * Appends whole events from *at on, about `want` bytes, and moves *at after them. Each has a header
 * of MD_HEADER_LARGE in its long form, then contexts and fields. 1; 0: the end of the stream;
 * -errno with a sentence. Events before the mistake were returned by earlier calls.
 */
int ltt_read(const struct ltt_trace *t, const struct ltt_stream *s, struct ltt_place *at,
	     size_t want, struct md_buf *out, struct tr_err *err);

#endif
