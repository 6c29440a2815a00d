/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What moments are made of: shared by snapshot/image.c (trace/: copied when somebody reads) and
 * snapshot/snapshot.c (copied at once, into a memfd). Private to the two.
 */
#ifndef TRACER_SNAPSHOT_IMAGE_H
#define TRACER_SNAPSHOT_IMAGE_H

#include "tracer/ring/packetizer.h"
#include "tracer/session/streams.h"

enum kind { METADATA, STREAM, INDEX, OUTPUT, ARCHIVED };

struct source {                 /* what stands behind a stream file and its index */
	pthread_mutex_t lock;   /* guards copying; `copied` is set last */
	struct stream stream;   /* references are owned */
	struct packet *packets; /* planned */
	size_t count;
	size_t first;           /* the leading empty packet: those before it were left out */
	uint64_t size;          /* of the stream file */
	uint64_t seq;           /* number of the first packet */
	uint8_t *data;          /* the stream file, once copied; then the index */
	bool copied;            /* atomic: data is there and does not change any more */
};

struct content {
	enum kind kind;
	struct source *source;	/* STREAM, INDEX; NULL: of a snapshot that an earlier daemon made */
	struct md_buf text;             /* METADATA */
	uint8_t *bytes;                 /* of a snapshot: the file */
	/*
	 * … that an earlier daemon made, and may not have looked at (snapshot/image_check.c);
	 * atomic
	 */
	bool unchecked;
	/* OUTPUT: a file that the session's output wrote; of it as much as there was then */
	int fd;
};

struct trace_image {
	int refs;               /* atomic */
	struct session *s;      /* referenced */
	struct source *sources;
	size_t source_count;
	struct image_file *files;
	struct content *contents;       /* of the files */
	size_t file_count, file_room;
	int64_t frozen;         /* bytes accounted; atomic */
	struct archives *archives;      /* of ARCHIVED files */
	uint64_t max_ts;        /* no event in it is later */

	/* Of a snapshot; else fd is -1. */
	int fd;
	uint8_t *map;           /* all of fd */
	size_t map_size;
	bool ended;             /* atomic: it was removed */
};

struct trace_image *image_new(struct session *s);
/* Marks and plans of all streams; no files yet. */
int image_plan(struct trace_image *m);
/* The files of what is planned, with the metadata as it is now. */
int image_add_files(struct trace_image *m);

/* How many of the bytes are events that a reader can read, with times within the packet's. */
uint64_t events_sound(const struct md_stream *class, const uint8_t *bytes, uint64_t len,
		      uint64_t begin_ts, uint64_t end_ts);
/*
 * As source_check, of the stream that file i belongs to: nothing is known of it but the file
 * itself.
 */
void snapshot_check(struct trace_image *m, size_t i);
uint64_t source_index_size(const struct source *src);
/* The header of packet i, if so many of its bytes are events. */
void source_packet(const struct source *src, size_t i, uint64_t good, uint64_t seq,
		   struct md_packet *h);
#endif
