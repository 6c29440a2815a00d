/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The share of each user in the daemon: sessions, bytes of buffers, bytes that views freeze. All
 * that a session has counts for its owner. tracer.shares_lock guards the shares; its holder takes
 * no other lock, so callers may hold tracer.lock or not. Owners change with tracer.lock held.
 */
#ifndef TRACER_SESSION_QUOTA_H
#define TRACER_SESSION_QUOTA_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "metadata/buf.h"
#include "tracer/base/facts.h"
#include "tracer/base/err.h"

struct session;
struct tracer;

/* 0, or -EDQUOT if the user may have no more sessions. */
int quota_session(struct tracer *t, uid_t uid, struct tr_err *err);
/* A session was made (false: no memory to count it), removed, or given to another owner. */
bool quota_add(struct session *s);
void quota_remove(struct session *s);
void quota_move(struct session *s, uid_t uid);
/* 0, or -EDQUOT if the owner's share has no room for this many more bytes of buffers. */
int quota_buffer(const struct session *s, uint64_t bytes);
/* A buffer was made or (negative) freed. */
void quota_count_buffer(struct session *s, int64_t bytes);
/* As session_frozen. */
int quota_frozen(struct session *s, int64_t bytes);
uint64_t quota_frozen_now(struct tracer *t);    /* of all users */
/* Lines of a session's status: what it has of its owner's share. */
void quota_status(struct session *s, struct facts *out);
/*
 * Lines `user UID key=value …`, one for each share: all of them for root and the daemon's user,
 * else the viewer's own.
 */
void quota_show(struct tracer *t, uid_t viewer, struct facts *out);
void quota_deinit(struct tracer *t);

#endif
