/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The output files of one stream, oldest first, and their sizes. The output thread adds to the
 * list, views read it; neither waits for the other.
 *
 * A file is identified by its directory (an open descriptor, which stays valid when the directory
 * is moved into the archives), its name and its inode: a view does not read another file that has
 * taken the name.
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
	uint64_t serial;        /* grows with each file; first, for search_above */
	struct trace_place *place; /* referenced */
	char name[192];         /* "channel0_0", "channel0_0_3" */
	dev_t dev;
	ino_t ino, index_ino;
	/* whole packets; of sealed packets the size that views see (sealed_file.h) */
	uint64_t size, index_size;
};

/* How far the files reach. */
struct outend {
	uint64_t serial, size, index_size;      /* of the last file; 0: there is none */
	uint64_t pos;           /* in the ring: written, or not to be written, up to here */
	uint64_t begin;         /* of the last packet: no later packet begins then, or earlier */
	uint64_t ts;            /* end of the last packet: no later event is earlier */
	uint64_t seq, lost;     /* number of the next packet; events_discarded of the last one */
	uint64_t lost_before;   /* of lost: in an earlier region */
};

struct stream_files {
	int refs;               /* atomic */
	uint64_t key;           /* of the region */
	uint32_t ring;
	bool sealed;            /* constant: the packets of all files are (seal.h) */
	pthread_mutex_t lock;   /* guards the rest; no other lock is taken under it */
	struct stream_file *files;
	size_t count;
	uint64_t next_serial;
	uint64_t chunk;         /* the current one */
	struct outend end;
	uint64_t told_serial, told_offset;      /* stream_files_tell: up to here */
};

struct stream_files *stream_files_create(uint64_t key, uint32_t ring, bool sealed);
struct stream_files *stream_files_get(struct stream_files *l);
void stream_files_put(struct stream_files *l);              /* NULL is allowed */

/* For the output thread. add: a new file; takes a reference to the place. */
int stream_files_add(struct stream_files *l, const struct stream_file *f);
/* The last file has grown to these sizes. */
void stream_files_grow(struct stream_files *l, uint64_t size, uint64_t index_size,
		       const struct outend *end);
/* Sets the end when no packet was written. */
void stream_files_set_end(struct stream_files *l, const struct outend *end);
/* The end, with serial and sizes of the last file. */
struct outend stream_files_end(struct stream_files *l);
/*
 * Forgets a file that is removed or recycled. *out: its entry, with a reference to its place (NULL:
 * not found).
 */
void stream_files_drop(struct stream_files *l, uint64_t serial, struct stream_file *out);
/* Forgets all files. */
void stream_files_clear(struct stream_files *l);
/* A rotation: files until now belong to an older chunk. */
void stream_files_chunk(struct stream_files *l, uint64_t chunk);

/*
 * Copies the first file whose serial is at least this, with a reference to its place. False: none.
 */
bool stream_files_find(struct stream_files *l, uint64_t serial, struct stream_file *out);
/*
 * Whether a damaged packet, here in a file, is news: none at this place or a later one was asked
 * for.
 */
bool stream_files_tell(struct stream_files *l, uint64_t serial, uint64_t offset);
/* The serial of the first file of the current chunk. */
uint64_t stream_files_first(struct stream_files *l);
/* Opens the file, or its index. -errno; -ESTALE: another file has its name. */
int outfile_open(const struct stream_file *f, bool index);
/*
 * The same for views, while the output thread may recycle the file: as long as the descriptor is
 * open, it does not.
 */
int stream_files_open(struct stream_files *l, const struct stream_file *f);

#endif
