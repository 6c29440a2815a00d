/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the output has of one stream: its files, oldest first, and how far they go. The thread that writes them adds, views read; neither
 * waits for the other. Private to tracer/.
 *
 * A file is named by its directory (an open descriptor, so that it is found after the directory was moved into the archives), its
 * name, and its inode: what another has put in its place is not read.
 */
#ifndef TRACER_RING_STREAM_FILES_H
#define TRACER_RING_STREAM_FILES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A trace directory of one chunk. */
struct trace_place {
	int refs;               /* atomic */
	int fd, index_fd;       /* the directory, and index/ in it */
	uint64_t chunk;         /* number of the chunk that it belongs to */
};

void trace_place_put(struct trace_place *p);          /* NULL is allowed */

struct stream_file {
	uint64_t serial;        /* grows with each file of the stream */
	struct trace_place *place; /* referenced */
	char name[192];         /* "channel0_0", "channel0_0_3" */
	dev_t dev;
	ino_t ino, index_ino;
	uint64_t size, index_size;      /* whole packets */
};

/* How far the files go. */
struct outend {
	uint64_t serial, size, index_size;      /* of the last file; 0: there is none */
	uint64_t pos;           /* in the ring: what is below was written, or is not to be */
	uint64_t ts;            /* end of the last packet: no event behind it is earlier */
	uint64_t seq, lost;     /* number of the next packet, and what it has been told as discarded */
	uint64_t lost_before;   /* of that, in a region that is gone */
};

struct stream_files {
	int refs;               /* atomic */
	uint64_t key;           /* of the region */
	uint32_t ring;
	pthread_mutex_t lock;   /* guards the rest; nothing is called under it */
	struct stream_file *files;
	size_t count;
	uint64_t next_serial;
	uint64_t chunk;         /* the current one */
	struct outend end;
};

struct stream_files *stream_files_create(uint64_t key, uint32_t ring);
struct stream_files *stream_files_get(struct stream_files *l);
void stream_files_put(struct stream_files *l);              /* NULL is allowed */

/* The writer's: a new file; it grew; all of the current chunk are gone; what was before belongs to an older chunk. */
int stream_files_add(struct stream_files *l, const struct stream_file *f);      /* takes a reference to the place */
void stream_files_grow(struct stream_files *l, uint64_t size, uint64_t index_size, const struct outend *end);
/* How far it is, when no packet was written. */
void stream_files_set_end(struct stream_files *l, const struct outend *end);
/* serial and size are what they are now. */
struct outend stream_files_end(struct stream_files *l);
/* One is removed, or filled again. *out: what it was, with a reference to its place (NULL: it was not there). */
void stream_files_drop(struct stream_files *l, uint64_t serial, struct stream_file *out);
void stream_files_clear(struct stream_files *l);
void stream_files_chunk(struct stream_files *l, uint64_t chunk);

/*
 * A copy of the first file whose serial is not below this one, with a reference to its place. False: there is none.
 */
bool stream_files_find(struct stream_files *l, uint64_t serial, struct stream_file *out);
/* The first of the current chunk: its serial. */
uint64_t stream_files_first(struct stream_files *l);
/* Opens what is behind the name; index: the index of it. -errno, -ESTALE if it is another file. */
int outfile_open(const struct stream_file *f, bool index);
/* For views, which open files that may just be dropped: what is returned is not filled again before it is closed. */
int stream_files_open(struct stream_files *l, const struct stream_file *f);

#endif
