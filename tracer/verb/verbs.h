/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracer/verb/: what `control` does, for its readers and writers, for drafts and for triggers. A
 * verb decides what happens to a session as a whole, and calls the domains and the parts to do it.
 */
#ifndef TRACER_VERBS_H
#define TRACER_VERBS_H

#include <stdint.h>

#include "metadata/buf.h"
#include "tracer/base/err.h"

struct session;

/* Text for `control`: the verbs that are accepted now, one a line. */
void session_verbs(struct session *s, struct md_buf *out);
/*
 * Runs the lines of one write to `control` (NUL-terminated): checks all, then runs them in order;
 * the first failure ends it, and err->line is its line. `stop` and `clear` are barriers. request: a
 * number of the write; a snapshot that it made already, in an earlier daemon, is not made again; 0:
 * it has none.
 */
int session_control(struct session *s, const char *text, uint64_t request, struct tr_err *err);
/*
 * The first half of `stop`: no event is recorded any more. It waits for no lock and no barrier.
 * 0: session_halted() has to follow, by any thread. -EAGAIN: nothing was done, use `stop`.
 */
int session_halt(struct session *s);
/* The rest of it: what `stop` does and says. May take long. */
int session_halted(struct session *s, struct tr_err *err);
/*
 * The verb `start`, without an output's directory. Caller holds session.lock and tracer.lock; it
 * releases tracer.lock as session_apply does.
 */
int session_start(struct session *s, struct tr_err *err);

#endif
