/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the packets of an output go: a row of functions that the writer calls. file_sink.c has the
 * row for a directory; a later room has that for a relay, and tracer.c lists it in
 * output_data.sinks.
 *
 * Unless a line says otherwise, the writer's thread calls the function, with the owner's rights,
 * and NULL means that there is nothing to do. Functions return 0 or -errno.
 */
#ifndef TRACER_OUTPUT_SINK_H
#define TRACER_OUTPUT_SINK_H

#include <stdbool.h>

#include "metadata/buf.h"
#include "tracer/base/facts.h"
#include "tracer/base/err.h"

struct output;
struct stream;
struct stream_writer;

struct output_sink {
	/*
	 * Any thread. Whether a value of `output` names such a place. NULL: a path of a directory.
	 */
	bool (*takes)(const char *value);
	/*
	 * Any thread, no other knows the output yet. Sets output.net from the value, and
	 * output.path to the form that is shown. -EINVAL with a sentence.
	 */
	int (*attach)(struct output *o, const char *value, struct tr_err *err);
	/*
	 * Any thread, with tracer.lock. Whether two outputs of this sink would write to one place.
	 * NULL: file_sink, which compares directories.
	 */
	bool (*collides)(const struct output *a, const struct output *b);
	/* any thread: the writer has ended. Frees output.net */
	void (*detach)(struct output *o);

	int (*open)(struct output *o);          /* before each pass; with the daemon's rights */
	/* A new stream, without a position. NULL: no memory. */
	struct stream_writer *(*add)(struct output *o, const struct stream *st);
	/* It has its slot, in writer->at; new_slot: no earlier daemon wrote it. */
	int (*restore)(struct output *o, struct stream_writer *writer, bool new_slot);
	void (*remove)(struct output *o, struct stream_writer *writer); /* frees it; any thread */
	int (*begin)(struct output *o);         /* the streams are known, before their packets */
	int (*check)(struct output *o, struct stream_writer *writer);   /* in each complete pass */
	/* Packets up to the mark; all: also of a partial sub-buffer. */
	int (*write)(struct output *o, struct stream_writer *writer, bool all);
	int (*end_pass)(struct output *o, bool all);
	void (*sync)(struct output *o);
	void (*regenerate)(struct output *o);   /* write the metadata again */
	int (*rotate)(struct output *o);        /* with the daemon's rights */
	int (*clear)(struct output *o);         /* with the daemon's rights */
	void (*finish)(struct output *o);       /* nothing is written any more */

	/* Any thread, with output.lock: lines `key value`; the reason of an error. */
	void (*show)(const struct output *o, struct facts *out);
	const char *(*explain)(int err);
	/* Any thread. What keeps packets from being written before it is an error; NULL: nothing */
	const char *(*trouble)(const struct output *o);
};

extern const struct output_sink file_sink;

#endif
