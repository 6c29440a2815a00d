/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trace images, private to the room: the images of trace/ (image*.c), whose streams are copied when
 * they are first read, and those of snapshots (snapshot*.c), copied into a memfd at once.
 */
#ifndef TRACER_SNAPSHOT_IMAGE_H
#define TRACER_SNAPSHOT_IMAGE_H

#include <stdint.h>
#include <sys/types.h>

#include "tracer/base/lock_order.h"
#include "tracer/base/ring/packetizer.h"
#include "tracer/base/ring/sealed_file.h"
#include "tracer/output/snapshot/images.h"
#include "tracer/session/streams.h"

struct archives;
struct export_files;

enum kind { TEXT, STREAM, INDEX, OUTPUT, SEALED, ARCHIVED, EXPORTED };

/* A stream of an image: the source of a stream file and its index. */
struct image_source {
	pthread_mutex_t lock;   /* held while the stream is copied; `copied` is set last */
	struct stream stream;   /* its references are owned */
	uint8_t uuid[16];       /* of its packets */
	struct packet *packets; /* the plan: one element for each packet */
	size_t count;
	size_t first;           /* the leading empty packet; earlier ones are left out */
	uint64_t size;          /* of the stream file */
	uint64_t seq;           /* packet_seq_num of the first packet */
	uint64_t lost_before;   /* events_discarded of the leading packet of a snapshot */
	uint8_t *data;          /* the stream file and then the index, once copied */
	bool copied;            /* atomic; from now on data does not change */
	uint64_t note;          /* of a held image: where it says that the stream was copied */
	bool was_copied;        /* by an earlier daemon: a reader may have got any part of it */
};

/* What a file of an image consists of. */
struct content {
	enum kind kind;
	struct image_source *source; /* of STREAM, INDEX; NULL: of an earlier daemon's snapshot */
	/* of TEXT: the metadata, or the index of a sealed file */
	struct md_buf text;
	uint8_t *bytes;         /* of a snapshot: the file in the map */
	/* Atomic. An earlier daemon may not have checked the packets (image_check.c). */
	bool unchecked;
	/* of OUTPUT: a file of the output or the input, used up to its size at the moment */
	int fd;
	struct sealed_file *sealed;     /* of SEALED: a file of the output; sealed_lock guards it */
};

struct trace_image {
	int refs;               /* atomic */
	struct session *s;      /* referenced */
	struct image_source *sources;
	size_t source_count;
	struct image_file *files;
	struct content *contents;       /* of the files */
	size_t file_count, file_room;
	int64_t frozen;         /* bytes accounted; atomic */
	struct archives *archives;      /* of ARCHIVED files */
	struct export_files *exported;  /* of EXPORTED files, whose numbers are the same there */
	uint64_t max_ts;        /* no event is later */
	uint64_t key;           /* of a snapshot; else 0 */
	pthread_mutex_t sealed_lock;    /* held while a packet is decompressed */

	int held;               /* for the next daemon (image_hold.c); -1: nothing */

	/* Of a snapshot; else fd is -1. */
	int fd;
	uint8_t *map;           /* all of fd */
	size_t map_size;
	bool ended;             /* atomic; the snapshot was removed */
};

/* ---- image.c ---- */

struct trace_image *image_new(struct session *s);       /* NULL: no memory */
/*
 * The UUID that a trace has in the image. The trace of a snapshot has one of its own: readers take
 * two directories with one UUID for one trace, and merge each stream's packets, whose times overlap
 * if one directory is a snapshot. It is the UUID of version 5 (RFC 4122, 4.3) that the session's
 * trace as the name space and the snapshot's key as the name give.
 */
void image_uuid(const struct trace_image *image, const struct trace *t, uint8_t uuid[16]);

/* ---- image_files.c: 0 or -errno ---- */

bool image_reserve_file(struct trace_image *image);         /* space for one more file, zeroed */
int image_add_file(struct trace_image *image, enum kind kind, struct image_source *src,
		   uint64_t size, uint64_t ts, const char *fmt, const char *dir, const char *name);
/* A file of kind TEXT; takes text over, also if it fails. */
int image_add_text(struct trace_image *image, struct md_buf *text, uint64_t ts, const char *fmt,
		   const char *dir, const char *name);
int image_add_metadata(struct trace_image *image, struct trace *t, uint64_t ts);
/*
 * The trace in whose directory a stream file or the metadata are, with a reference; NULL: the
 * session of an earlier daemon's snapshot does not have it. Takes tracer.lock.
 */
struct trace *image_trace(const struct trace_image *image, size_t i);
int image_sort_files(struct trace_image *image);
/*
 * Sorts the files of an image of the session's own traces. If there are none, readers need the
 * metadata to see traces without events, so it adds that. Takes tracer.lock.
 */
int image_complete(struct trace_image *image);
/* Adds the files of all planned streams, and the metadata of their traces as it is now. */
int image_add_files(struct trace_image *image);

/* ---- image_source.c ---- */

/* Plans all packets of the streams up to a mark of each; adds no files. 0 or -errno. */
int image_plan_streams(struct trace_image *image, const struct stream_set *set);
int image_plan(struct trace_image *image);                  /* the same for the session's streams */
/* Adds the ring of a stream, also if it was written to files. Takes references. */
struct image_source *image_add_source(struct trace_image *image, const struct stream *st);
/* Plans the packets up to the mark of p. in_files: the leading packet is in a file. */
int source_plan(struct image_source *src, struct packetizer *p, bool in_files);
uint64_t source_index_size(const struct image_source *src);
/* The header of packet i, of whose content `good` bytes are valid events. */
void source_packet(const struct image_source *src, size_t i, uint64_t good, uint64_t seq,
		   struct md_packet *h);
/* Copies the stream out of its ring, with headers and index. Caller holds src->lock. */
int source_copy(struct trace_image *image, struct image_source *src);
/* Checks a snapshot's stream at its first read. Caller holds src->lock. */
void source_check(struct trace_image *image, struct image_source *src);
/* How many bytes are events that decode, with times within the packet's. */
uint64_t count_valid_events(const struct md_stream *class, const uint8_t *bytes, uint64_t len,
			    uint64_t begin_ts, uint64_t end_ts);

/* ---- image_output.c ---- */

/* Adds the output's files. flushed: they have everything; else adds what only the rings have. */
int image_plan_output(struct trace_image *image, const struct stream_set *set, bool flushed);

/* Adds the files of an imported trace, as they are. */
struct foreign;
int image_plan_import(struct trace_image *image, const struct foreign *im);

/* ---- image_check.c ---- */

/* As source_check, for a stream of an earlier daemon's snapshot, of which only files are known. */
void snapshot_check(struct trace_image *image, size_t i);

/* ---- archives.c ---- */

/*
 * Opens archives/ of a session's output with the owner's rights. The owner may have put anything
 * there: links are not followed, and only regular files are shown. 0 and *out NULL: there is none.
 */
int archives_open(struct session *s, struct archives **out);
void archives_close(struct archives *a);                /* NULL is allowed */
/* Calls fn for each file: "NAME/ust/uid/0/64-bit/channel0_0". mtime: ns since the epoch. */
int archives_each(struct archives *a,
		  int (*fn)(void *arg, const char *path, uint64_t size, int64_t mtime), void *arg);
ssize_t archives_read(struct archives *a, const char *path, uint64_t offset, void *buf,
		      size_t size);

#endif
