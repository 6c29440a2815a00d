/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each user may take up of the daemon: sessions, bytes of buffers, bytes that views freeze. What a session has counts for
 * its owner, whoever reads or writes it. Guarded by a lock of its own, within which nothing else is called: so moments can be dropped
 * with the tracer's lock held or without. Owners change with the tracer's lock held.
 */
#ifndef TRACER_SESSION_QUOTA_H
#define TRACER_SESSION_QUOTA_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "metadata/buf.h"
#include "tracer/base/err.h"

struct session;
struct tracer;

/* 0, or -EDQUOT if the user may have no more sessions. */
int quota_session(struct tracer *t, uid_t uid, struct tr_err *err);
/* A session comes (false: there is no memory to count it), goes, or gets another owner. */
bool quota_add(struct session *s);
void quota_remove(struct session *s);
void quota_move(struct session *s, uid_t uid);
/* 0, or -EDQUOT if the owner may have no buffers of so many bytes more. */
int quota_buffer(const struct session *s, uint64_t bytes);
/* A buffer was made, or (negative) is gone. */
void quota_count_buffer(struct session *s, int64_t bytes);
/* As session_frozen. */
int quota_frozen(struct session *s, int64_t bytes);
uint64_t quota_frozen_now(struct tracer *t);    /* of all users */
/* Lines of a session's status: what it has of its owner's share. */
void quota_status(struct session *s, struct md_buf *out);
/* Lines `user UID key=value …` of those who have something: all for root and ourselves, else the viewer's own. */
void quota_show(struct tracer *t, uid_t viewer, struct md_buf *out);
void quota_deinit(struct tracer *t);

#endif
