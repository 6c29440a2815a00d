/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session's output: a thread that writes what the rings have into CTF stream files, and so makes
 * room for the writers.
 *
 *	output/output.c      the thread: when it looks, what it is asked for; what the session sees of it
 *	output/stream_writer.c   one stream: packets out of its ring, into its files
 *	output/stream_files_restore.c   … and what an earlier daemon wrote of it
 *	output/lost_file.c   files that another program has removed or cut
 *	output/recycle.c    files that are filled again
 *	output/trace_dir.c    one trace of the current chunk: its directory and its metadata
 *	output/rotate.c   the end of a chunk: into the archives; clear
 *	snapshot/snapshot_copy.c    snapshots: copied to it, by a thread of their own
 *	output/checkpoint.c    how far it is, for the next daemon
 *	ring/stream_files.c      the same for the views
 *	output/directory.c, os/cred.c   whose directories, with whose rights
 *
 * Nobody but the thread touches the user's files, so that no disk, however slow, keeps anybody else
 * waiting for long. A packet is counted as written when the file has it whole, and its index entry,
 * and the state file says so: in this order. Only then `consumed` moves in the ring. What cannot be
 * written (a full disk) stays in the ring, and the thread tries again: the ring fills, and the
 * writers count what they discard.
 *
 * Locks: output.lock is the last: nothing is called under it. The thread takes the tracer's lock
 * now and then; whoever waits for the thread must not hold it.
 */
#ifndef TRACER_OUTPUT_OUTPUT_H
#define TRACER_OUTPUT_OUTPUT_H

#include <sys/uio.h>

#include "metadata/ctf.h"
#include "tracer/session/session.h"
#include "tracer/os/cred.h"
#include "tracer/ring/stream_files.h"
#include "tracer/output/checkpoint.h"
#include "tracer/ring/reader.h"
#include "tracer/os/syncer.h"

/* What the thread is asked for; each is done once for all who asked before it began. */
enum output_ask {
	OUTPUT_FLUSH,
	OUTPUT_SYNC,
	OUTPUT_ROTATE,
	OUTPUT_CLEAR,
	OUTPUT_METADATA,
	OUTPUT_FINISH,
	OUTPUT_ASKS
};

struct trace_dir {
	struct trace_dir *next;
	struct trace *trace;            /* referenced */
	struct trace_place *place;         /* of the current chunk; NULL: not made yet */
	uint64_t version;               /* of the metadata that is written; 0: none */
	bool early;                     /* made before its first packet, in the first chunk */
};

#define RECYCLE_FILES 8                        /* of a stream are kept */
#define RECYCLE_BYTES (UINT64_C(64) << 20)     /* … if all of them have no more */

/* A file that is filled again and again: open and mapped as long as it may come again */
struct recycled_file {
	dev_t dev;
	ino_t ino;
	int fd;
	char *map;                      /* NULL: there is none */
	size_t size;                    /* of the map; the file may have less */
};

struct stream_writer {
	struct stream st;               /* references are owned */
	struct trace_dir *trace;
	struct ring_mark mark;
	uint32_t slot;                  /* in the state file */
	struct checkpoint_slot at;        /* how far it is */
	int fd, index_fd;               /* the current file; -1: not open */
	/* it may have more than it should: what was written of a packet could not be cut off */
	bool needs_truncate;
	bool seen;                      /* by the last look at the session */
	uint64_t hold, took;	/* switch_period, and when it was last cut because of it: ns */
	/* size of a file that is filled again: what is behind at.size is padding; 0: it is none */
	uint64_t spare;
	struct recycled_file kept[RECYCLE_FILES];    /* one of them may be the current file */
	uint64_t file_size;             /* 0: no limit */
	uint32_t file_count;
};

struct output {
	struct session *s;
	char *path;                     /* as it was written */
	struct cred cred;
	mode_t mode;                    /* of directories */
	int dir;                        /* the output directory */
	dev_t dev;	/* it is this one; 0 and 0 before an earlier daemon's is found again */
	ino_t ino;
	bool by_default;	/* the path was chosen by the daemon: `default` was written */
	bool started, finished;         /* guarded by the tracer's lock */
	pthread_t thread;

	/* The thread's own. */
	int state;
	struct checkpoint_head head;
	struct stream_writer **streams;
	size_t count;
	struct trace_dir *traces;
	struct syncgroup *sync;
	uint64_t drained;               /* when kernel events were last fetched, ns */
	bool rotates;                   /* that is what it is about */
	uint64_t look;                  /* read_period of the channels, ns; 0: as it sees fit */
	bool kernel;                    /* there are kernel channels */

	pthread_mutex_t lock;           /* guards the rest */
	pthread_cond_t asking, answered;
	uint64_t asked[OUTPUT_ASKS], done[OUTPUT_ASKS];
	/* the thread is to end, and go on in the next daemon; it has ended */
	bool quit, ended;
	/* it is to look now: the schedule of rotations has changed, or it is an earlier daemon's */
	bool nudged;
	bool inherited;	/* it is an earlier daemon's, and its directory was not found again yet */
	int error;                      /* of the last attempt to write, or 0 */
	int64_t error_since;
	bool rotating;
	uint64_t step, steps;	/* of what was asked for: how far it is; steps 0: not begun */
	uint64_t pending;               /* bytes in the rings at the last look */
	uint64_t bytes, packets;        /* written since the first start or clear */
	uint64_t chunk_bytes;           /* in the current chunk */
	uint64_t chunk, archives;
	char archive[64];               /* the last one */
	int rotate_error;
	/* snapshot/snapshot_copy.c: snapshots on their way, oldest first */
	struct snapshot_copy *copies;
	bool copying;                   /* there is a thread for them */
	/* that other programs have removed or cut while they were being written */
	uint64_t lost_files;
	uint64_t copied;                /* so many are complete */
	int copy_error;                 /* of the last one, or 0 */
};

/* The output of a session, as a part of it (session/part.h). */
extern const struct session_part output_part;

/* Locked. */
bool output_runs(const struct session *s);
void output_destroy(struct session *s);         /* the thread has ended, or never ran */
/* Unlocked: each waits for the thread, at most a second. */
int output_rotate_verb(struct session *s, struct tr_err *err);
int output_clear_verb(struct session *s, struct tr_err *err);
int output_metadata_verb(struct session *s, struct tr_err *err);
/*
 * The session was stopped: all of it is to be in the files. 0, also if that takes longer than a
 * write may; -ENOSPC, -EDQUOT or -EIO: it cannot be written, and is still in the buffers.
 */
int output_stopped(struct session *s);

/* output.c, private to the room */
/*
 * Locked; releases the lock while it looks at the disk. Before a first start: makes sure that the
 * output's directory exists, has no trace, and no other session writes to it (else -EEXIST).
 */
int output_prepare(struct session *s, struct tr_err *err);
/* locked: the thread; no error if it runs */
int output_start(struct session *s, struct tr_err *err);
bool output_flush(struct session *s);           /* unlocked */
void output_finish(struct session *s);          /* unlocked */
void output_suspend(struct session *s);         /* unlocked */
uint64_t output_now(void);                      /* CLOCK_MONOTONIC, ns */
void output_step(struct output *o);             /* one more of o->steps */

/* output/stream_writer.c: with the owner's rights, but for the first */
struct stream_writer *stream_writer_create(struct output *o, const struct stream *st,
					   struct trace_dir *t);
void stream_writer_destroy(struct stream_writer *os);
/* Takes up what an earlier daemon wrote of it. */
int stream_writer_restore(struct output *o, struct stream_writer *os);
/*
 * Writes what the ring has up to the mark: whole sub-buffers, or with `all` the rest too, and what
 * was lost since. 0 or -errno; what was written until then was.
 */
int stream_writer_write(struct output *o, struct stream_writer *os, bool all);
void stream_writer_leave(struct stream_writer *os);     /* all files of the chunk */
void stream_writer_tell(const struct stream_writer *os);        /* the views: how far it is */
/* its file has what is whole, and nothing else */
int stream_writer_trim(struct stream_writer *os);
/* all its files in this chunk, but for those that cannot be opened */
int stream_writer_sync(struct output *o, struct stream_writer *os);
void stream_writer_file_name(const struct stream_writer *os, uint64_t serial, char *out,
			     size_t size);
/*
 * lost_file.c: before a write: a file that was removed or cut is given up. 0, or -errno of making
 * its directory again.
 */
int stream_writer_check(struct output *o, struct stream_writer *os);
/* … to files: for `status` */
void output_written(struct output *o, uint64_t bytes, unsigned int packets);
/* os->at, after a clear: no file; positions are the caller's */
void stream_writer_cleared(struct output *o, struct stream_writer *os);
void stream_writer_unlink(struct output *o, struct stream_writer *os);  /* likewise */
uint64_t stream_writer_pending(const struct stream_writer *os);
/* Bytes that came into the file; *err: why not more. Changes iov. */
uint64_t output_put(int fd, struct iovec *iov, int count, uint64_t at, int *err);
void output_advance(struct iovec **iov, int *count, uint64_t n);        /* past so many bytes */

/* output/recycle.c */
/*
 * An old file, for being filled again under the same name; -1: it has to be a new one. To be closed
 * by recycle_close.
 */
int recycle_take(struct stream_writer *os, const struct stream_file *old, const char *name);
/* … which keeps those that may come again */
void recycle_close(struct stream_writer *os, int fd);
void recycle_forget(struct stream_writer *os);	/* until this: none but the current one is open */
int recycle_begin(struct stream_writer *os);       /* the file is all padding */
/* The header of what is behind the packets that end at at->size. */
struct md_packet recycle_padding(const struct stream_writer *os, const struct checkpoint_slot *at);
/* As output_put, for packets up to after->size. There is room for one more in iov. */
uint64_t recycle_put(struct stream_writer *os, const struct checkpoint_slot *after,
		     struct iovec *iov, int count, int *err);

/* output/trace_dir.c */
struct trace_dir *trace_dir_of(struct output *o, struct trace *t);
void trace_dir_destroy(struct trace_dir *t);
/* directory and metadata are there, and current */
int trace_dir_ready(struct output *o, struct trace_dir *t);
/*
 * Locked, before the thread runs, at the session's first start: the traces that are known by then,
 * of the kernel and of the session's owner, shall be made early. 0 or -ENOMEM.
 */
int trace_dirs_expect(struct output *o);
/*
 * Makes the directories and metadata of early traces that have none. With the owner's rights. 0 or
 * -errno.
 */
int trace_dirs_begin(struct output *o);
/* these are on their way to the disk; with the owner's rights */
int trace_dir_sync(struct output *o, const struct trace_dir *t);

/* output/rotate.c */
int output_rotate(struct output *o);
int output_finish_rotation(struct output *o, int dir);  /* which an earlier daemon began */
void output_clear(struct output *o);

#endif
