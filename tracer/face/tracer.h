/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracer: sessions, channels, event rules, applications, and the views of what they recorded.
 * This header, with those that it includes, is what fs/ uses of it; the tracer does not use FUSE.
 *
 * Errors: functions return 0 (or a count) or -errno, and explain the user's mistakes in a tr_err.
 * Threads: every function may be called from any thread; none waits for an application; none blocks
 * longer than a second. Objects are named by strings and looked up at each call, or held by
 * reference counts (get/put).
 */
#ifndef TRACER_TRACER_H
#define TRACER_TRACER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "metadata/buf.h"
#include "tracer/base/facts.h"
#include "tracer/app/agent/agents.h"
#include "tracer/app/apps.h"
#include "tracer/base/base.h"
#include "tracer/base/context/inclusion_set.h"
#include "tracer/base/err.h"
#include "tracer/format/export/exports.h"
#include "tracer/kernel/available.h"
#include "tracer/output/outputs.h"
#include "tracer/output/snapshot/images.h"
#include "tracer/session/config.h"
#include "tracer/session/sessions.h"
#include "tracer/verb/verbs.h"
#include "tracer/view/map/maps.h"
#include "tracer/view/metrics/metrics.h"
#include "tracer/view/views.h"

struct tracer;
struct session;

/*
 * A program that opens a tracer is executed again (/proc/self/exe) as the tracer's helpers: as
 * keeper, and as reader of foreign traces. Its main calls this first. True: it was one of them, and
 * *status is what main returns.
 */
bool tracer_helper(int argc, char **argv, int *status);

/*
 * Opens the state directory (-EBUSY: another daemon has it), restores what a killed daemon left,
 * and starts the keeper and the thread that serves applications. tracer_close ends this. keep:
 * sessions continue without a daemon; else they end.
 */
int tracer_open(const struct tracer_config *config, struct tracer **out, struct tr_err *err);
void tracer_close(struct tracer *t, bool keep);
/*
 * Whether this program knows the version of what is in a state directory, which a daemon may use
 * at the time. 0; -EPROTO with a sentence: it does not; -errno.
 */
int tracer_state_known(const char *state_dir, struct tr_err *err);
/*
 * Stores the caller's text, which says who has the state directory, for another daemon.
 * tracer_announced reads it, also while a daemon has the directory: 0 or -errno; empty if that
 * daemon announced nothing.
 */
void tracer_announce(struct tracer *t, const char *text);
int tracer_announced(const char *state_dir, struct md_buf *out);
/*
 * Appends what a tracer_close without `keep` would destroy, for the log, for instance
 * "2 sessions (a active, b), 1 snapshot and 3 triggers".
 */
void tracer_contents(struct tracer *t, struct md_buf *out);

/*
 * Before this process executes a daemon: waits, a second at most, until no change is being made and
 * the keeper has each buffer, and lets no other change begin. tracer_thaw: it was not executed. The
 * same thread; it calls nothing else of the tracer in between.
 */
void tracer_freeze(struct tracer *t);
void tracer_thaw(struct tracer *t);

/*
 * A keeper that has ended is replaced, and the next one gets everything that it held. One thread
 * calls tracer_guard_keeper: after poll(2) has reported POLLHUP of the descriptor tracer_keeper()
 * (the tracer's; -1: none), and at the time that the call returned last (-1: none). now and the
 * result: milliseconds of CLOCK_MONOTONIC. Takes as long as a process takes to start, and some time
 * for each buffer. No lock.
 */
int tracer_keeper(struct tracer *t);
int64_t tracer_guard_keeper(struct tracer *t, int64_t now);

/*
 * Descriptors of the caller's that shall outlive the daemon with the keeper, under names that begin
 * with KEEPER_HELD (base/keeper/keeper.h). A keeper that takes the place of another gets
 * them as well. Any thread. tracer_hold duplicates fd; 0, or -errno: the keeper does not have it.
 */
int tracer_hold(struct tracer *t, const char *name, int fd);
void tracer_release(struct tracer *t, const char *name);
/* What an earlier daemon held: the caller's, or -errno. */
int tracer_held(struct tracer *t, const char *name);

/* `version`: lines "ctf 1.8", "kernel none …", "clock …". */
void tracer_version(struct tracer *t, struct md_buf *out);
/*
 * The daemon's own counters: those of all users for root, else the viewer's own.
 */
void tracer_status(struct tracer *t, uid_t viewer, struct facts *out);
/*
 * Writes one line of text as the event trail:log { msg } into the sessions of the writer and of
 * root that enabled it. msg needs no NUL; more than 4096 bytes are -EINVAL.
 */
int tracer_log(struct tracer *t, const struct log_writer *who, const char *msg, size_t len,
	       struct tr_err *err);

/* ---- drafts of sessions ---- */

/*
 * A draft is a session that other threads do not see: empty, with the owner of s. The functions
 * below fill it like any session. session_become then gives s the contents of the draft and starts
 * it, or fails and changes nothing (-EBUSY: s was started before). The old contents of s are freed.
 */
struct session *session_draft(struct session *s);                      /* NULL: no memory */
void session_draft_drop(struct session *draft);                        /* NULL is allowed */
int session_become(struct session *s, struct session *draft, bool start, struct tr_err *err);

/*
 * Inclusion sets: which processes are recorded; written like lists of event rules. Excluding is a
 * barrier for each process. The sets from TRACK_PID on belong to the kernel domain; descendants of
 * TRACK_PID's processes are recorded, too. -EOPNOTSUPP: the backend does not support this
 * attribute, whose set is always `*`.
 */
int track_show(struct session *s, enum track_attr attr, struct md_buf *out);
int track_store(struct session *s, enum track_attr attr, const char *text, bool replace,
		struct tr_err *err);

#endif
