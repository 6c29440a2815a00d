/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracer/face/: what fs/ sees of the tracer, in tracer.h; recover.h is the same without a daemon.
 *
 *	tracer.c        opens and closes the tracer; drafts of its state for recovery
 *	face_data.c     what this room keeps in the tracer
 *	staging.c       drafts of sessions, and their exchange with the real ones
 *	status.c        version and status of the daemon
 *	tracking.c      inclusion sets
 *	user_log.c      lines written to `log`
 *	announce.c      who has the state directory
 *	state_version.c the version of what is in it
 *	keeper_guard.c  another keeper when the first one ended
 *	last_boot.c     a session with what the kernel keeps of the last boot
 *	recover.c       sessions of a state directory without a daemon
 */
#ifndef TRACER_FACE_H
#define TRACER_FACE_H

#include "tracer/face/keeper_guard.h"
#include "tracer/face/tracer.h"
#include "tracer/session/session.h"

/* A descriptor that the keeper has for the tracer's user: held.c. */
#define TRACER_HELD_MAX 40
#define TRACER_HELD_NAME 16     /* bytes of a name, with its NUL */
struct held_file {
	char name[TRACER_HELD_NAME];    /* "": unused */
	int fd;
};

/* What the face keeps in the tracer. */
struct face_data {
	int64_t opened;                 /* ns since the epoch; constant */
	int lock_fd;                    /* flocked: one daemon per state directory; constant */
	struct keeper_guard guard;
	/*
	 * The keeper has all that there was when it was started. Atomic; written before the
	 * keeper's pid changes and after the hand-over, read after the pid.
	 */
	bool keeper_ready;
	uint32_t keepers_replaced;      /* how often one ended and was replaced; atomic */
	struct held_file held[TRACER_HELD_MAX]; /* guarded by tracer.lock */
};

/* face_data.c */
extern const struct tracer_room face_room;
struct face_data *face_data(const struct tracer *t);

/* tracer.c */
struct tracer *tracer_new(const struct tracer_config *config);
void tracer_free(struct tracer *t);
/* Restores all sessions of the state directory. Returns the number of unclaimed buffers. */
size_t sessions_restore(struct tracer *t);

/*
 * last_boot.c: makes the session `last-boot`, if the kernel keeps events of the last boot or an
 * earlier daemon has taken them. Before requests are served; says itself what fails.
 */
void last_boot_open(struct tracer *t);

/* state_version.c */

/*
 * Of the state directory. A daemon refuses a later one: another number means that a daemon which
 * only knows this one would misread a file or a buffer.
 */
#define STATE_VERSION 1u
/* dir: the state directory. 0; -EPROTO with a sentence: it has a later version; -errno. */
int state_version_check(int dir, struct tr_err *err);
/* Writes the version. 0 or -errno. */
int state_version_note(int dir);

#endif
