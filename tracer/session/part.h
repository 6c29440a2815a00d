/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of a session: what a session has besides its channels (its text, its snapshots, its
 * output). The model calls a part only through its row, so session/ knows none of them. A new part
 * is one row in tracer.c and one file with the hooks and the data.
 *
 * Locks: each hook says whether the caller holds tracer.lock. A hook may be NULL. Builds
 * with sanitizers check it at each call (session/lock_check.h).
 */
#ifndef TRACER_SESSION_PART_H
#define TRACER_SESSION_PART_H

#include <stdbool.h>

#include "metadata/buf.h"
#include "tracer/base/facts.h"
#include "tracer/base/ring/stream.h"
#include "tracer/session/lock_check.h"
#include "tracer/session/sessions.h"

struct session_part {
	const char *name;
	size_t size;            /* of the part's own data in each session: session_data() */

	/* The session is being made: fills the data, which is zero. May be a draft or hidden. */
	void (*create)(struct session *s);
	/* Locked. Lines `KEY VALUE` of the session's file in the state directory. */
	void (*save)(const struct session *s, struct md_buf *out);
	/* No other thread knows the session yet. False: the key belongs to another part. */
	bool (*restore_line)(struct session *s, const char *key, const char *value);
	/*
	 * Locked. Two sessions that were never started exchange what the user set, besides the
	 * members that are settings.
	 */
	void (*exchange)(struct session *a, struct session *b);

	/*
	 * Session locked; may release both locks. A user starts the session. 0 or -errno with a
	 * sentence.
	 */
	int (*prepare)(struct session *s, struct tr_err *err);
	/* Locked. The session starts. 0 or -errno with a sentence. */
	int (*start)(struct session *s, struct tr_err *err);
	/* Locked. Whether a session without channels has something to do while it is active. */
	bool (*records)(const struct session *s);
	/*
	 * Unlocked. The session was started or stopped, or has another owner or other inclusion
	 * sets; the call that did so has not returned yet.
	 */
	void (*follow)(struct session *s);
	/* Locked. Something of the session other than its counters has changed. */
	void (*changed)(struct session *s);
	/* Locked. A buffer was made or is being removed. */
	void (*buffers)(struct session *s);
	/* Locked. Views show nothing that was recorded before now. */
	void (*clear)(struct session *s);
	/*
	 * Unlocked. The streams of a session whose events are not in rings. 1: *out has them; 0:
	 * they are in rings; -errno.
	 */
	int (*streams)(struct session *s, struct stream_set *out);
	/*
	 * Unlocked: waits for a writer, at most half a second. Brings what the rings hold to the
	 * place where views read it. False: not all of it.
	 */
	bool (*flush)(struct session *s);
	/* Locked. Of the session's status. */
	void (*status)(struct session *s, struct facts *out);

	/* Locked. The session records nothing any more. */
	void (*halted)(struct session *s);
	/*
	 * Unlocked: waits for a writer, at most a second. After that. -errno, and the reason: what
	 * its buffers hold cannot be written.
	 */
	int (*stopped)(struct session *s, struct tr_err *why);
	/*
	 * The same before the session, or one of its channels, is removed: its events would be
	 * lost.
	 */
	int (*removable)(struct session *s, struct tr_err *why);
	/* Locked. Whether clear_all() of the part clears the rings. */
	bool (*has_rings)(const struct session *s);
	/* Unlocked: waits for a writer. The verb `clear`. 0 or -errno with a sentence. */
	int (*clear_all)(struct session *s, struct tr_err *err);
	/* Locked. Whether finish() is needed before the session is removed. */
	bool (*must_finish)(const struct session *s);
	/*
	 * Unlocked: waits for a writer. The session ends: no event is recorded any more, and all
	 * are written.
	 */
	void (*finish)(struct session *s);
	/*
	 * Unlocked: waits for a writer. This daemon ends, and the next one continues the session.
	 */
	void (*suspend)(struct session *s);
	/*
	 * Locked. The session is being removed. keep: the keeper holds what the part has, for the
	 * next daemon.
	 */
	void (*drop)(struct session *s, bool keep);
	/* Unlocked. Frees what drop() set aside, in all sessions. */
	void (*gc)(struct tracer *t);
	/* Frees the part's data: the last reference to the session was put. */
	void (*destroy)(struct session *s);
};

/*
 * What a room keeps once in the tracer, besides what it keeps in each session; the room says which
 * lock guards it. A new one is one row in tracer.c and one file with the data.
 */
struct tracer_room {
	size_t size;            /* of its data: tracer_data() */
	/* No other thread knows the tracer yet. Fills the data, which is zero. */
	void (*create)(struct tracer *t);
	/* No other thread knows the tracer any more. */
	void (*destroy)(struct tracer *t);
};

/* The room's data in the tracer, of `size` bytes. Any lock state. */
void *tracer_data(const struct tracer *t, const struct tracer_room *room);
struct domain_ops;
/*
 * A tracer with these domains and rooms, a list that ends with NULL, whose create() was not called
 * yet. All else is zero. NULL: no memory. Free it with free().
 */
struct tracer *tracer_alloc(const struct domain_ops *const domains[],
			    const struct tracer_room *const *rooms);
void tracer_create_rooms(struct tracer *t);     /* calls create() of each */
void tracer_destroy_rooms(struct tracer *t);    /* calls destroy() of each, the last one first */

/* The parts of all sessions, in the order in which they are called. */
#define for_each_part(p, t) for (const struct session_part *const *p = (t)->parts; *p; p++)
#define for_each_part_with(hook, p, t) for_each_part(p, t) if ((*p)->hook)

/*
 * The part's data in the session, of `size` bytes; the part says which lock guards it. Any lock
 * state.
 */
void *session_data(const struct session *s, const struct session_part *part);
size_t parts_size(const struct tracer *t);      /* of the data of all parts in one session */
void session_create_parts(struct session *s);

void parts_gc(struct tracer *t);                /* unlocked */
void session_follow_parts(struct session *s);   /* unlocked */
/* Each calls one hook of every part, in the order of the table; locked. */
bool session_has_work(struct session *s);
void session_clear_parts(struct session *s);
void session_change_parts(struct session *s);
void session_buffers_parts(struct session *s);
bool session_must_finish(const struct session *s);
/* Unlocked: calls streams() of the parts until one does not return 0. */
int session_part_streams(struct session *s, struct stream_set *out);
bool session_has_rings(const struct session *s);
void session_halt_parts(struct session *s);
/* Each calls one hook of the parts until one fails: 0 or its -errno with the reason. */
int session_prepare_parts(struct session *s, struct tr_err *err);       /* session locked */
int session_stop_parts(struct session *s, struct tr_err *why);          /* these unlocked */
int session_removable(struct session *s, struct tr_err *why);
int session_clear_all(struct session *s, struct tr_err *err);
void session_drop_parts(struct session *s, bool keep);
void session_exchange_parts(struct session *a, struct session *b);
void session_save_parts(const struct session *s, struct md_buf *out);
/* True: the line was a part's. No other thread knows the session yet. */
bool session_restore_part(struct session *s, const char *key, const char *value);
/*
 * Whether a setting that the first start fixes may change now: 0, or -ENOENT, -EBUSY with a
 * sentence. Locked.
 */
int session_may_set(const struct session *s, struct tr_err *err);

#endif
