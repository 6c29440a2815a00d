/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the reader of LTT traces share. */
#ifndef TRACER_IMPORT_LTT_PRIVATE_H
#define TRACER_IMPORT_LTT_PRIVATE_H

#include "tracer/format/import/ltt.h"

#define LTT_IDS 256u            /* of facilities; of events in one */
#define LTT_CLASSES_MAX 64u     /* of events with the same contexts */
#define LTT_UNION 1             /* md_type.length_size of a structure that is a union in LTT */

/* The sizes that a facility was loaded with, and the byte order of the trace. */
struct ltt_sizes {
	uint8_t integer, longs, pointer, size, align;
	bool big_endian, big_floats;
};

struct ltt_event {
	struct md_event *e;     /* its first fields are the contexts, until it is in a class */
	uint32_t contexts;
	uint32_t class;         /* number of its stream class */
};

/* A definition as it was loaded, with these sizes. */
struct ltt_facility {
	char name[64];
	uint32_t checksum;
	struct ltt_sizes sizes;
	struct ltt_event events[LTT_IDS];
	uint32_t count;
	uint32_t types;         /* types and labels that it consists of */
};

/* At this cycle, an id began to stand for a facility. */
struct ltt_load { uint64_t cycles; uint8_t id; uint8_t facility; };

struct ltt_trace {
	struct md_trace *md;
	bool taken;             /* the caller of ltt_take_model owns md */
	struct md_stream *classes[LTT_CLASSES_MAX];     /* owned by md */
	uint64_t digests[LTT_CLASSES_MAX];              /* of their contexts */
	uint32_t class_count;
	struct ltt_facility *facilities[LTT_IDS];       /* owned; 0, core, is NULL */
	uint32_t facility_count;
	uint32_t types;         /* of all of them */
	struct ltt_load *loads; /* in the order of cycles */
	size_t load_count;
	struct ltt_stream *streams;
	size_t stream_count;
	const struct ltt_file *files;
	size_t file_count;
};

struct ltt_block {
	uint64_t offset;        /* in the file */
	uint64_t size;          /* of the block */
	uint64_t end;           /* of its events, in the block; at most what the file has */
	uint64_t first;         /* of the first event, in the block */
	uint64_t begin;         /* cycles */
	uint64_t freq, scale, start;
	uint64_t start_ns;      /* of the cycle `start` */
	uint8_t align;
	bool heartbeat, big_endian, big_floats;
	bool torn;              /* the file ends in it */
};

/* ---- ltt.c ---- */

/* Sets err: "FILE: offset N: …". Returns -EINVAL. */
int ltt_fail(struct tr_err *err, const struct ltt_file *f, uint64_t offset, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
int ltt_pread(const struct ltt_file *f, uint64_t offset, void *buf, size_t n, struct tr_err *err);
/* The block at this offset. 1; 0: the file has no header of a block there; -errno. */
int ltt_block(const struct ltt_file *f, uint64_t offset, struct ltt_block *b, struct tr_err *err);
/* ---- ltt_block.c ---- */

/* Reads the loads of facilities. 0 or -errno. */
int ltt_read_loads(const struct ltt_file *f,
		   int (*add)(void *arg, uint64_t cycles, const char *name, const uint32_t *values,
			      struct tr_err *err),
		   void *arg, struct tr_err *err);

/* ---- ltt_parse.c ---- */

/*
 * Reads the definition f->name from a text of n bytes. 1; 0: it is of another facility; -errno with
 * a sentence. The caller frees the events in all cases.
 */
int ltt_parse(struct ltt_facility *f, const char *path, const char *text, size_t n,
	      struct tr_err *err);

#endif
