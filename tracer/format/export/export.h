/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of export/ that are made when they are opened: what the session holds, in the form of
 * another program.
 *
 *	export.c  the forms of session/exports.def, and one open: a maker (maker/maker.h) writes all
 *	          events held to a file in memory (os/memory_file.h), which counts as frozen memory
 *	csv.c     export/csv
 *	parquet.c  export/parquet, as parquet/ writes it
 *	otlp.c    export/otlp.jsonl; otlp_text.c: its lines; otlp_pipe.c: pipe.otlp (otlp.h)
 *	sql.c     export/sql; process_names.c: names of processes for it
 *	sqlite.c  export/trace.sqlite: executes the text of sql.c
 *	lket.c    export/lket.txt; lket_files.c: export/lket/; lket_kind.c: its formats (lket.h)
 *	files.c   the files of a directory (files.h)
 *	ltt.c     export/ltt/, a directory: its events; ltt_ids.c: their ids; ltt_xml.c: their
 *	          definitions (ltt.h)
 *
 * Time lines, flame graphs and what else shows slices are in picture/ (picture/picture.h).
 *
 * tracer.h declares the functions that the file system calls; this header is private to the room.
 *
 * Locks: none here. Each open belongs to its caller, who serializes its calls. The numbers that the
 * part has in a session are atomic.
 */
#ifndef TRACER_EXPORT_EXPORT_H
#define TRACER_EXPORT_EXPORT_H

#include "tracer/format/export/exports.h"
#include "tracer/format/maker/maker.h"
#include "tracer/session/part.h"

/* The sizes of the exports, as a part of a session (session/part.h). */
extern const struct session_part export_part;

/* Each writes one file. Failures: m->err, or m->out.failed. */
#define EXPORT(form, file, make, help) void make(struct maker *m);
#define PICTURE(form, file, make, help)
#include "tracer/session/exports.def"

#endif
