/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the views (text, pipe, streams, trace/) and the output read from a session. All functions take
 * tracer.lock themselves, if they need it.
 */
#ifndef TRACER_SESSION_STREAMS_H
#define TRACER_SESSION_STREAMS_H

#include "tracer/os/clock.h"
#include "tracer/ring/stream.h"
#include "tracer/tracer.h"

struct text_engine;             /* the text of a session: offsets, checkpoints; one per session, shared by its opens */

/* The session's engine slot: NULL until view/ makes one; the text part destroys it with the session. */
struct text_engine **session_text(struct session *s);

const struct clock *session_clock(struct session *s);
/* ns from the epoch to the clock's zero, as this session says it; changes with `regenerate metadata`. */
uint64_t session_clock_offset(struct session *s);
struct session *session_ref(struct session *s);         /* one more reference */
/* Accounts bytes that a view freezes (negative: gives back). -EDQUOT beyond the limit. */
int session_frozen(struct session *s, int64_t bytes);

/* In ns: how long a channel keeps back what is in an unfinished sub-buffer, and how often its readers look; 0: not set. */
struct periods { uint64_t hold, look; };
/* Of a channel by who has its streams (trace.owner). channel NULL: look is that of the channel which wants it most often. */
struct periods session_periods(struct session *s, const char *owner, const char *channel);

/* Of a channel: file_size and file_count. */
void session_file_limits(struct session *s, bool kernel, const char *channel, uint64_t *size, uint32_t *count);

/* With an output, views show what its files have: brings what the rings have into them. False: not all of it. */
bool session_flush(struct session *s);
/* Number of the output's current chunk; 0 without an output. What is in older chunks is in the archives, not in the session's views. */
uint64_t session_chunk(struct session *s);

/*
 * Takes the session's streams and a time: every event not later than *now is visible in them (a barrier was passed). Later
 * ones may be too, or not.
 */
int session_look(struct session *s, const char *channel, struct stream_set *out, uint64_t *now);

#endif
