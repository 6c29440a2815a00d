/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies of snapshots: each goes to snapshots/NAME-DATE-TIME-N of the session's output, or to each
 * of the session's targets (target.h). Threads make them that live while copies are queued, one for
 * each place, so that a slow place delays only its own copies. Private to snapshot/.
 */
#ifndef TRACER_SNAPSHOT_COPIES_H
#define TRACER_SNAPSHOT_COPIES_H

#include "tracer/base/facts.h"
#include "tracer/base/os/syncer.h"
#include "tracer/output/snapshot/snapshot.h"
#include "tracer/output/snapshot/target.h"

/* A thread that waits for copies. Guarded by snapshot_copies.lock; on its thread's stack. */
struct copy_wait {
	unsigned int all, left;         /* copies; those of them that are not over */
	int err;                        /* of the first that failed, -errno; 0: none has */
	char why[256];                  /* the sentence of that */
};

struct snapshot_copy {
	struct snapshot_copy *next;
	struct session *session;        /* the image has a reference */
	struct trace_image *image;      /* referenced; NULL: left for the next daemon */
	uint64_t key;                   /* of the snapshot */
	int64_t created;                /* the snapshot was, ns since the epoch */
	char name[SNAPSHOT_COPY_MAX + 1];
	struct snapshot_target *target; /* owned; NULL: the output */
	uint64_t done, total;           /* bytes; atomic */
	bool reached;                   /* the place: a relay has made the session; atomic */
	bool cancelled;                 /* the thread that waited has given it up; atomic */

	/* Guarded by snapshot_copies.lock. */
	bool running;                   /* its thread works on it */
	struct copy_wait *wait;         /* NULL: no thread waits for it */
};

struct snapshot_copies {
	pthread_mutex_t lock;           /* a leaf; guards the rest, but `sync` is constant */
	pthread_cond_t changed;
	struct snapshot_copy *first;    /* oldest first */
	bool quit;                      /* no copy begins, and those under way end */
	uint64_t copied;                /* number of complete copies */
	char error[256];                /* of the last copy that failed, or ""; and its place */
	char *error_place;              /* a later copy there that is complete removes both */
	struct syncgroup *sync;         /* of files in targets */
};

/* ---- snapshot_copies.c ---- */

/*
 * Queues copies for a new snapshot; does nothing if there is no place for it. only: to this target
 * instead of the session's. wait (may be NULL): gets their results. Caller holds
 * tracer.lock.
 */
int snapshot_copies_add(struct session *s, struct snapshot *sn, const struct snapshot_target *only,
			struct copy_wait *wait);
/*
 * Waits until the copies of `wait` are over, or 10 s, after which those that have not reached their
 * place are given up. 0, also if some are not over; or -errno with a sentence. Unlocked.
 */
int snapshot_copies_wait(struct session *s, struct copy_wait *wait, struct tr_err *err);
/* Whether copies of the snapshot are not over. Caller holds tracer.lock. */
bool snapshot_copies_pending(const struct session *s, uint64_t key);
size_t snapshot_copies_left(const struct session *s);   /* copies that are not over */
/* Waits until all copies are made, at most ms; the others end then. Unlocked. */
void snapshot_copies_finish(struct session *s, unsigned int ms);
void snapshot_copies_destroy(struct session *s);        /* no thread uses the session */

/*
 * Appends a copy without an image. NULL: no memory. Caller holds tracer.lock, as for the next two.
 */
struct snapshot_copy *copy_append(struct session *s, uint64_t key, const char *name,
				  const struct snapshot_target *target);
/*
 * Gives the copy its image and a thread. When the session or the daemon ends, it does nothing: the
 * next daemon makes the copy. 0, or -errno: it is gone.
 */
int copy_begin(struct session *s, struct snapshot_copy *c, struct snapshot *sn,
	       struct copy_wait *wait);
void copy_drop(struct session *s, struct snapshot_copy *c);     /* a copy without an image */

static inline const char *copy_place(const struct snapshot_copy *c)
{
	return c->target ? c->target->place : "";
}

/* ---- copies_state.c ---- */

/* Continues the copies that an earlier daemon did not complete. Caller holds tracer.lock. */
void snapshot_copies_resume(struct session *s);
/* Lines of `status`, and of the session's file. Caller holds tracer.lock. */
void snapshot_copies_status(const struct session *s, struct facts *out);
void snapshot_copies_save(const struct session *s, struct md_buf *out);
/* A line of the session's file. No other thread knows the session yet. False: another key. */
bool snapshot_copies_restore(struct session *s, const char *key, const char *value);

/* ---- snapshot_copy.c ---- */

bool snapshot_copy_quits(void *copy);           /* whether it must end now */
/* Writes or sends the copy. 0, or -errno with a sentence; -ECANCELED: it must end. Unlocked. */
int snapshot_copy_run(struct snapshot_copy *c, struct tr_err *err);

/* ---- snapshot.c ---- */

/*
 * The last copy of a snapshot is over; failed: one of them failed, and no thread waited for it.
 * A transient snapshot is removed, but if one failed. Caller holds tracer.lock.
 */
void snapshot_copied(struct session *s, uint64_t key, bool failed);

#endif
