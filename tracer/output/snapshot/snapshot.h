/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trace images and snapshots. A trace image shows all streams and metadata of a session at one
 * moment: the files of trace/ and archives/. A snapshot is a trace image that lasts: its bytes are
 * copied when it is made, from the rings into a memfd that the keeper also holds. So it survives a
 * kill of the daemon and does not change when rings are overwritten.
 *
 *	image.c             a trace image: take, read, references
 *	image_files.c       … its list of files
 *	image_source.c      … its streams, copied from the rings at the first read
 *	image_output.c      … of a session with an output: the files of the current chunk
 *	image_check.c       … checks packets of an earlier daemon's snapshot at the first read
 *	image_save.c        … writes its files into a directory
 *	image_hold.c        … for the next daemon
 *	image_cut.c         … only its newest packets
 *	archives.c          archives/ of an output
 *	snapshot.c          the snapshots of a session: make, list, remove
 *	snapshot_list.c     … what they have in the session
 *	snapshot_part.c     … as a part of the session: its file, its status, its end
 *	snapshot_memory.c   … copies the streams into the memfd
 *	interval.c          … only the events of an interval, also one that counts from an event
 *	later.c             … taken after a time
 *	request.c           the words of the verb `snapshot` and of the action
 *	snapshot_copies.c   … queues copies to the output or to targets
 *	copies_state.c      … as the session's file and its status show them
 *	snapshot_copy.c     … makes one copy
 *	target.c            … the list of targets: snapshot_outputs
 *
 * The sub-buffers of a ring are copied from the newest to the oldest. Copying ends at the first one
 * that a writer overwrote meanwhile, so a snapshot's stream has no hole.
 *
 * Locks: tracer.lock guards a session's list of snapshots. snapshot_copies.lock guards the queue of
 * copies, snapshot_waiting.lock that of snapshots that wait for their time. source.lock (image.h)
 * is held while a stream is copied.
 */
#ifndef TRACER_SNAPSHOT_SNAPSHOT_H
#define TRACER_SNAPSHOT_SNAPSHOT_H

#include <urcu/list.h>

#include "tracer/output/snapshot/images.h"
#include "tracer/session/part.h"
#include "tracer/session/verb.h"

struct tracer;
struct snapshot_copies;         /* copies.h */
struct snapshot_target;         /* target.c */
struct snapshots_waiting;       /* later.c */

#define SNAPSHOT_COPY_MAX (SNAPSHOT_NAME_MAX + 32)

/*
 * Guarded by tracer.lock, except where a line says otherwise.
 *
 * References: the session's list holds one until the snapshot is removed. snapshot_create holds one
 * while it copies, because an rmdir of the session can remove the snapshot meanwhile; `removed`
 * says so. A reader (snapshot_get), a copy to the output (snapshot_copy.c) and a slot of the tree
 * (fs/tree/tracedir.c) do not hold the snapshot: each holds its image.
 */
struct snapshot {
	struct cds_list_head node;      /* in the session's list */
	int refs;
	bool removed;                   /* it is in no session's list any more */
	char name[SNAPSHOT_NAME_MAX + 1];
	int64_t created;                /* ns since the epoch */
	uint64_t key;                   /* of the memfd; not 0 */
	struct trace_image *image;      /* referenced, set once; NULL: copying is not complete */
	uint64_t done, total;           /* bytes copied and to copy; atomic */
	/* It has the events from `from` to `to`, ns of the session's clock; 0, UINT64_MAX: all. */
	uint64_t from, to;
	bool unnamed;                   /* the daemon chose the name */
	bool transient;                 /* removed once all targets have it */
};

/* What the part has in each session. tracer.lock guards it. */
struct session_snapshots {
	struct cds_list_head list;              /* struct snapshot */
	uint32_t next;                          /* number of the next one without a name */
	struct snapshot_target *targets;        /* where they go, too; owned; NULL: nowhere */
	struct snapshot_copies *copies;         /* owned; NULL: none was made yet */
	struct snapshots_waiting *waiting;      /* owned; NULL: none has waited yet */
};

/* The snapshots of a session, as parts of it (session/part.h): their data, and all hooks. */
extern const struct session_part snapshot_list_part, snapshot_part;
extern const struct session_verb snapshot_verb;

/* What the room keeps in the tracer. */
struct dead_snapshots {
	struct cds_list_head list;      /* struct snapshot; tracer.lock */
};

extern const struct tracer_room snapshot_room;  /* snapshot.c */

static inline struct session_snapshots *snapshots_of(const struct session *s)
{
	return session_data(s, &snapshot_list_part);
}

/* How a snapshot is taken: what follows the verb `snapshot`, or what an action of a trigger has. */
struct snapshot_request {
	char name[SNAPSHOT_NAME_MAX + 1];       /* "": the daemon chooses it */
	uint64_t max_size;              /* bytes; 0: snapshot_max_size */
	uint64_t last;                  /* ns: events of this time before `at`; 0: all held */
	uint64_t after;                 /* ns: and of this time after it; 0: none */
	uint64_t at;                    /* a time of the session's clock, ns; 0: now */
	/* snapshot_event() of an event near `at`, which is the moment; 0: none */
	uint64_t event;
	bool kernel;                    /* the kernel recorded this event */
	struct snapshot_target *target; /* instead of the session's; owned; NULL: these */
	bool transient;                 /* removed from memory once all targets have it */
	bool waits;                     /* for the targets; not if it is taken after a time */
	uint64_t request;               /* of a line of `control`; 0: it has none */
};

/* ---- request.c ---- */

/*
 * Reads `[NAME] [last TIME] [after TIME] [max-size N] [output PLACE]` from byte `at` of the line.
 * 0 or -errno with a sentence and caret; the caller calls snapshot_request_deinit after 0.
 */
int snapshot_request_parse(const char *line, size_t at, struct snapshot_request *r,
			   struct tr_err *err);
struct scan;
struct word;
/* The option at the word w. 0, 1: w is no option, or -errno with a sentence and caret. */
int snapshot_request_option(struct scan *s, struct word *w, struct snapshot_request *r);
/* The word w is the name. 0 or -errno with a sentence and caret. */
int snapshot_request_name(struct scan *s, struct word *w, struct snapshot_request *r);
/* 0 or -ENOMEM; the caller calls snapshot_request_deinit in both cases. */
int snapshot_request_copy(const struct snapshot_request *r, struct snapshot_request *out);
void snapshot_request_deinit(struct snapshot_request *r);

/* ---- snapshot.c ---- */

/*
 * As snapshot_create. -errno also if a target did not get it, if the request waits for that. With
 * `after` it is taken then, and the call does not wait for it. 0 and nothing is done if an earlier
 * daemon did it for this number of a request.
 */
int snapshot_take(struct session *s, const struct snapshot_request *r, struct tr_err *err);
/*
 * Takes the snapshot that is reserved as `key`, as snapshot_take. -ENOENT: it was removed. Without
 * locks.
 */
int snapshot_complete(struct session *s, uint64_t key, const struct snapshot_request *r,
		      struct tr_err *err);
/* snapshot_list.c: it may not be complete yet; NULL: none. Caller holds tracer.lock. */
struct snapshot *snapshot_find(const struct session *s, const char *name);
struct snapshot *snapshot_find_key(const struct session *s, uint64_t key);
/* The session stopped: the interval of what is reserved ends at `to`. Caller holds tracer.lock. */
void snapshot_end_at(struct session *s, struct snapshot *sn, uint64_t to);
/* Removes what is reserved. Caller holds tracer.lock. */
void snapshot_unreserve(struct session *s, uint64_t key);
/*
 * Adds a snapshot that an earlier daemon reserved. NULL: no memory, or the name is invalid. No
 * other thread knows the session yet.
 */
struct snapshot *snapshot_adopt_reserved(struct session *s, const char *name, uint64_t key);

/* ---- later.c ---- */

/*
 * Lets the snapshot that is reserved as `key` wait until the clock has passed `to`, and be taken
 * then. `error` says what goes wrong. Caller holds tracer.lock.
 */
int snapshot_later(struct session *s, uint64_t key, uint64_t to, const struct snapshot_request *r,
		   struct tr_err *err);
bool snapshots_wait(const struct session *s);   /* some wait for their time */
/* No other snapshot is taken; returns when none is being taken. Unlocked. */
void snapshots_wait_end(struct session *s);
/* The session stopped: those that wait end now, with what it recorded. Caller holds tracer.lock. */
void snapshots_wait_stop(struct session *s);
void snapshots_wait_destroy(struct session *s); /* no thread uses the session */
/* Lines of the session's file. Caller holds tracer.lock. */
void snapshots_wait_save(const struct session *s, struct md_buf *out);
/* A line of it, after its key. No other thread knows the session yet. */
void snapshots_wait_restore(struct session *s, const char *value);
/* Lets those that an earlier daemon left wait. Caller holds tracer.lock. */
void snapshots_wait_resume(struct session *s);

/* ---- interval.c ---- */

struct md_occurrence;
/* What tells an event from others: a digest of its name and fields; not 0. */
uint64_t snapshot_event(const struct md_occurrence *o);
/* The time that the session has of the request's event; `at` if it has no such event. Unlocked. */
uint64_t snapshot_event_time(struct session *s, const struct snapshot_request *r);

/*
 * Leaves out the events before `from` and after `to` (ns of the session's clock), also within
 * packets. The planned image belongs to the calling thread. 0 or -ENOMEM.
 */
int snapshot_cut(struct trace_image *image, uint64_t from, uint64_t to);

/* ---- snapshot.c ---- */

/* Removes all from the session's list. Caller holds tracer.lock. */
void snapshots_drop(struct session *s, bool keep_memory);
void snapshots_gc(struct tracer *t);    /* frees removed ones; unlocked */

/* ---- snapshot_memory.c ---- */

/* A packet that may be kept: `packet` of stream `source`. */
struct packet_choice {
	uint64_t end_ts, size;
	size_t source, packet;
};

/*
 * Sorts the packets, the newest first. Returns how many of them, with the `sum` bytes that are kept
 * anyway, have at most max bytes.
 */
size_t snapshot_choose_newest(struct packet_choice *all, size_t n, uint64_t sum, uint64_t max);
/* Leaves out the oldest packets, so that all stream files together have at most max bytes. -EFBIG:
 * none fits; *newest: the bytes that the newest needs. Else 0 or -ENOMEM. */
int snapshot_limit(struct trace_image *image, uint64_t max, uint64_t *newest);
/* Counts bytes as frozen, besides those of the streams and their indexes. 0 or -EDQUOT. */
int snapshot_account(struct trace_image *image, uint64_t bytes);
/*
 * Copies all streams from the rings into the memfd image->fd, appends the other files, and maps it.
 * 0 or -errno.
 */
int snapshot_fill(struct trace_image *image, struct snapshot *sn);
/* Maps the memfd image->fd of an earlier daemon, lists its files. -EBADMSG: it is inconsistent. */
int snapshot_map(struct trace_image *image);

#endif
