/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The output of a session: a thread, the writer, reads the packets of all rings, writes them into
 * CTF stream files and so makes space for applications and the kernel.
 *
 *	output.c                create, start and destroy an output; requests to the writer
 *	output_data.c           what the room keeps in the tracer
 *	writer.c                the writer: when it reads the rings, how it serves requests
 *	sink.h, file_sink.c     where packets go: what the writer calls; the row for a directory
 *	stream_writer.c         one stream: the packets of its ring, into its files
 *	seal_packet.c           … with a checksum, or compressed
 *	stream_writer_files.c   … make, trim, sync and remove these files
 *	stream_files_restore.c  … continue the files of an earlier daemon
 *	lost_file.c             … files that another program removed or truncated
 *	recycle.c               … files that are filled again
 *	trace_dir.c             one trace in the current chunk: its directory and its metadata
 *	rotate.c                a chunk ends and moves to the archives; a clear
 *	checkpoint.c            how far the output is, for the next daemon
 *	settings.c, status.c    the session's attributes; the lines of `status` and `troubles`
 *	directory.c             open and make directories with the rights of their owner
 *
 * Only the writer's thread accesses the user's files, so a slow disk delays no other thread.
 * The order of a write: the packet into the stream file, its entry into the index, the stream's
 * slot into the checkpoint, and then `consumed` of the ring. A packet that cannot be written (the
 * disk is full) stays in the ring and the writer tries again; the ring fills, and applications
 * count the events that they discard.
 *
 * Locks: output.lock is the innermost lock: no function that takes another lock is called under
 * it. The writer takes tracer.lock now and then; so a thread that waits for the writer must not
 * hold tracer.lock.
 */
#ifndef TRACER_OUTPUT_OUTPUT_H
#define TRACER_OUTPUT_OUTPUT_H

#include <sys/uio.h>

#include "tracer/base/facts.h"
#include "tracer/base/lock_order.h"
#include "metadata/ctf.h"
#include "tracer/base/os/cred.h"
#include "tracer/base/os/syncer.h"
#include "tracer/output/checkpoint.h"
#include "tracer/output/sink.h"
#include "tracer/base/ring/packetizer.h"
#include "tracer/base/ring/stream_files.h"
#include "tracer/session/session.h"
#include "tracer/session/verb.h"

/* What other threads request of the writer. One pass serves all requests made before it began. */
enum output_request {
	OUTPUT_FLUSH,
	OUTPUT_SYNC,
	OUTPUT_ROTATE,
	OUTPUT_CLEAR,
	OUTPUT_METADATA,
	OUTPUT_FINISH,
	OUTPUT_REQUESTS
};

/* What the room keeps in the tracer; constant. */
struct output_data {
	const struct output_sink *const *sinks; /* besides directories; ends with NULL */
	/* The tracer is not a daemon's, and trace images have only packets that no output has. */
	bool only_unwritten;
};

extern const struct tracer_room output_room;    /* output_data.c */

static inline struct output_data *output_data(const struct tracer *t)
{
	return tracer_data(t, &output_room);
}

#define ARCHIVED_MOST 8         /* archives in which readers of an earlier daemon may be */

/* A trace and its directory in the current chunk. */
struct trace_dir {
	struct trace_dir *next;
	struct trace *trace;            /* referenced */
	struct trace_place *place;      /* NULL: the directory is not made yet */
	uint64_t version;               /* of the metadata file; 0: not written yet */
	bool early;                     /* the first chunk has it before its first packet */
	/* of an earlier daemon: its directories in the last archives, the newest first */
	struct trace_place *archived[ARCHIVED_MOST];
	bool sought;                    /* they were looked for */
};

/* One stream of the output. The thread's own. */
struct stream_writer {
	struct stream st;               /* its references are owned */
	struct trace_dir *trace;
	struct ring_mark mark;          /* the writer writes up to here */
	uint32_t slot;                  /* number of its checkpoint slot */
	struct checkpoint_slot at;      /* what is written so far */
	int fd, index_fd;               /* the current file; -1: none is open */
	bool needs_truncate;            /* a part of a packet could not be cut off yet */
	bool seen;                      /* in the session's stream list of this pass */
	uint64_t switch_period;         /* ns; 0: only full sub-buffers are written */
	uint64_t switched;              /* when a partial sub-buffer was last written, ns */
	/* Size of a file that is filled again: padding follows at.size. 0: an ordinary file. */
	uint64_t spare;
	bool sealed;                    /* the packets are (ring/seal.h) */
	uint64_t file_size;             /* limit of a file, bytes; 0: no limit */
	uint32_t file_count;            /* limit of the number of files; 0: no limit */
	struct relay_stream *net;       /* relay/: the stream on the connection; NULL: files */
};

struct output {
	struct session *s;
	char *path;                     /* as the user wrote it */
	const struct output_sink *sink; /* constant */
	struct relay *net;              /* relay/: the connection; NULL: a directory */
	struct cred cred;               /* of the session's owner */
	mode_t mode;                    /* of the directories made */
	int dir;                        /* the output directory; -1: not open */
	/* Identity of the directory. 0, 0: an earlier daemon's, not opened again yet. */
	dev_t dev;
	ino_t ino;
	bool by_default;                /* the user wrote `default`: the daemon chose the path */
	bool started, finished;         /* guarded by tracer.lock */

	/* Only the writer's thread uses these. */
	int state;                      /* the checkpoint file */
	struct checkpoint_head head;
	struct stream_writer **streams;
	size_t count;
	struct trace_dir *traces;
	struct syncgroup *sync;
	uint64_t drained;               /* when kernel events were last drained, ns */
	bool rotates;                   /* this pass ends with a rotation */
	uint64_t read_period;           /* the shortest of the channels, ns; 0: adaptive */
	bool kernel;                    /* the session has kernel channels */
	uint64_t live_period;           /* of a session that is streamed, ns; 0: not live */
	uint64_t looked;                /* live: the marks have all events up to this time */

	pthread_mutex_t lock;           /* guards the rest */
	pthread_cond_t requested, answered;
	uint64_t asked[OUTPUT_REQUESTS], done[OUTPUT_REQUESTS]; /* numbers of requests */
	bool quit;                      /* the thread must end; the next daemon continues */
	bool ended;                     /* the thread has ended */
	bool wake;                      /* the thread must look at the session's settings now */
	struct session_info seen;       /* what the thread saw when it looked */
	bool inherited;                 /* an earlier daemon's, directory not opened again yet */
	int error;                      /* of the last attempt to write, or 0 */
	int64_t error_since;            /* ns since the epoch */
	bool rotating;
	uint64_t rotations;             /* begun by this daemon */
	uint64_t step, steps;           /* progress of the requests; steps 0: none is served */
	uint64_t pending;               /* bytes in the rings after the last pass */
	uint64_t bytes, packets;        /* written since the first start or the last clear */
	uint64_t chunk_bytes;           /* written into the current chunk */
	uint64_t plain_bytes;           /* of `bytes`, as they were before they were compressed */
	uint64_t chunk, archives;       /* the current chunk's number; number of archives */
	char archive[64];               /* name of the last archive; "": none */
	int rotate_error;               /* of the last rotation, or 0 */
	int clear_error;                /* of the last clear, or 0 */
	uint64_t lost_files;            /* removed or truncated by other programs */
};

/* The output of a session, as a part of it (session/part.h). */
extern const struct session_part output_part;

/* ---- output.c ---- */

/* Takes dir over unless it returns NULL (no memory). */
struct output *output_create(struct session *s, const char *path, int dir);
/* The reason of an error of the writer, -errno, as a user can understand it. */
const char *output_explain(const struct output *o, int err);
/* An output of a sink that is no directory. 0 or -errno with a sentence. */
int output_create_remote(struct session *s, const struct output_sink *sink, const char *value,
			 struct output **out, struct tr_err *err);
/* The sink that takes this value of `output`; file_sink if no other does. */
const struct output_sink *output_sink_of(const struct tracer *t, const char *value);
/* Starts the thread; 0 if it runs already. Caller holds tracer.lock. */
int output_start(struct session *s, struct tr_err *err);
bool output_runs(const struct session *s);      /* caller holds tracer.lock */
/*
 * The output if its thread runs, else NULL. It is valid while the caller has a reference to the
 * session. Takes tracer.lock.
 */
struct output *output_if_running(struct session *s);
/* Frees the output. Its thread has ended or never ran. */
void output_destroy(struct session *s);

/* These wait for the writer: the caller does not hold tracer.lock. The verbs wait at most 1 s. */
extern const struct session_verb rotate_verb, metadata_verb;
int output_clear_all(struct session *s, struct tr_err *err);
/*
 * The session was stopped: writes all of it. 0, also if that takes longer than 0.8 s; -ENOSPC,
 * -EDQUOT or -EIO, and the reason: it cannot be written and is still in the buffers.
 */
int output_stopped(struct session *s, struct tr_err *why);
/*
 * The same before the session, or one of its channels, is removed. -EIO also if a relay confirms
 * nothing of what it does not have yet.
 */
int output_removable(struct session *s, struct tr_err *why);
/*
 * Bytes that neither the files nor the relay have, now; 0 if memory is short. Any thread, takes
 * lists_lock. An application can change it for its own user's rings.
 */
uint64_t output_pending(struct session *s);
bool output_flush(struct session *s);
void output_finish(struct session *s);
void output_suspend(struct session *s);

/* ---- status.c ---- */

void output_show_status(struct session *s, struct facts *out); /* caller holds tracer.lock */

/* ---- writer.c: called by the writer's thread, as are all functions below ---- */

void *output_run(void *output);                 /* the thread's function */
void output_count_step(struct output *o);       /* one of o->steps is done */

/* ---- stream_writer.c: with the owner's rights, except create ---- */

struct stream_writer *stream_writer_create(struct output *o, const struct stream *st,
					   struct trace_dir *t);
void stream_writer_destroy(struct stream_writer *writer);
/*
 * Writes what the ring has up to the mark: full sub-buffers; with `all` also a partial one, and the
 * number of events lost since. 0 or -errno; packets written before an error stay written.
 */
int stream_writer_write(struct output *o, struct stream_writer *writer, bool all);
/* Makes the position visible to the views. */
void stream_writer_publish(const struct stream_writer *writer);
uint64_t stream_writer_pending(const struct stream_writer *writer); /* bytes in the ring */
/* The files, or the relay, and the checkpoint have all up to writer->at: makes room in the ring. */
void stream_writer_consume(struct stream_writer *writer, uint64_t missed);
/*
 * Counts bytes and packets that are in files now, for `status`. plain: the bytes before they were
 * compressed.
 */
void output_count_written(struct output *o, uint64_t bytes, uint64_t plain, unsigned int packets);
/* pwritev of all. The number of bytes written; *err: why not all. Changes iov. */
uint64_t output_put(int fd, struct iovec *iov, int count, uint64_t at, int *err);

/* The size of the current file as views see it. */
static inline uint64_t stream_writer_view_size(const struct stream_writer *writer)
{
	return writer->sealed ? writer->at.plain_size : writer->at.size;
}

/* ---- seal_packet.c ---- */

/*
 * The header of a sealed packet, and its content if that is compressed: *content is *size bytes
 * from malloc, or NULL: as it is in the ring. Sets the sizes in p->header, which the index gets.
 */
void seal_packet(const struct session *s, const struct stream *st, struct packet *p,
		 struct md_sealed_packet *header, void **content, uint64_t *size);
/* settings.c: the setting `output` (base/setting.h) */
void output_show(const void *session, struct md_buf *out);
void output_show_saved(const void *session, struct md_buf *out);
int output_store(void *session, const char *value, bool replace, struct tr_err *err);

/* ---- stream_writer_files.c: with the owner's rights ---- */

void stream_writer_file_name(const struct stream_writer *writer, uint64_t serial, char *out,
			     size_t size);
/* The current file is complete: makes and opens the next one. 0 or -errno. */
int stream_writer_next_file(struct output *o, struct stream_writer *writer);
void stream_writer_close(struct stream_writer *writer);
/*
 * Truncates the current file to its whole packets. Returns err, or the error of the truncation; it
 * is then tried again before the next write.
 */
int stream_writer_cut_back(struct stream_writer *writer, int err);
int stream_writer_trim(struct stream_writer *writer);       /* the same if an earlier one failed */
/* Queues all files of the chunk for a sync; those that cannot be opened are its error. */
int stream_writer_sync(struct output *o, struct stream_writer *writer);
void stream_writer_unlink(struct stream_writer *writer);    /* all files of the chunk */

/* ---- stream_files_restore.c: with the owner's rights ---- */

/* Continues the files of an earlier daemon, from the checkpoint slot in writer->at. 0 or -errno. */
int stream_writer_restore(struct output *o, struct stream_writer *writer);
/* Sets writer->at to what a clear leaves: no file. The caller sets the positions in the ring. */
void stream_writer_cleared(struct output *o, struct stream_writer *writer);

/* ---- lost_file.c: with the owner's rights ---- */

/*
 * Before a write: leaves a file that was removed or truncated. 0, or -errno if its directory cannot
 * be made again.
 */
int stream_writer_check_files(struct output *o, struct stream_writer *writer);

/* ---- recycle.c: with the owner's rights ---- */

/* Opens an old file so that it can be filled again under the same name; -1: make a new one. */
int recycle_take(const struct stream_file *old, const char *name);
int recycle_begin(struct stream_writer *writer);    /* makes the file all padding */
/* The header of the padding that follows the packets up to at->size. */
struct md_packet recycle_padding(const struct stream_writer *writer,
				 const struct checkpoint_slot *at);
/* As output_put, for packets up to after->size. iov has space for one more element. */
uint64_t recycle_put(struct stream_writer *writer, const struct checkpoint_slot *after,
		     struct iovec *iov, int count, int *err);

/* ---- trace_dir.c ---- */

/* The trace_dir of a trace, made if it is missing; NULL: no memory. */
struct trace_dir *trace_dir_of(struct output *o, struct trace *t);
void trace_dir_destroy(struct trace_dir *t);
void trace_dir_leave(struct trace_dir *t);      /* its directories: the chunk has ended */
/* Makes the directory and brings the metadata file up to date. With the owner's rights. */
int trace_dir_ready(struct output *o, struct trace_dir *t);
/*
 * At the session's first start: the traces that are known then, of the kernel and of the session's
 * owner, are to be made early. 0 or -ENOMEM. Caller holds tracer.lock; the thread does not run yet.
 */
int trace_dirs_expect(struct output *o);
/* Makes directories and metadata of early traces that have none. With the owner's rights. */
int trace_dirs_begin(struct output *o);
/* Queues directories and metadata for a sync. With the owner's rights. 0 or -errno. */
int trace_dir_sync(struct output *o, const struct trace_dir *t);

/* ---- rotate.c ---- */

int output_rotate(struct output *o);
/* The current chunk is complete and has been archived elsewhere: counts it and begins the next. */
int output_begin_chunk(struct output *o);
/* Completes a rotation that an earlier daemon began. */
int output_finish_rotation(struct output *o, int dir);
int output_clear(struct output *o);
void output_reset_counts(struct output *o);     /* after a clear: for `status` */

#endif
