/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the views (text, pipe, streams, trace/) and the output read from a session. The functions
 * take tracer.lock themselves where they need it.
 */
#ifndef TRACER_SESSION_STREAMS_H
#define TRACER_SESSION_STREAMS_H

#include "tracer/base/os/clock.h"
#include "tracer/base/ring/stream.h"
#include "tracer/session/sessions.h"

/* Shows the latest possible time, always, if the session's events have times of a plug-in. */
const struct clock *session_clock(struct session *s);
/* ns from the epoch to the zero of the session's clock; `regenerate metadata` changes it. */
uint64_t session_clock_offset(const struct session *s);
struct session *session_ref(struct session *s);         /* one more reference */
/* Counts bytes in memory for a view (negative: frees them). -EDQUOT beyond the limit. */
int session_frozen(struct session *s, int64_t bytes);

/*
 * ns: how long a channel holds back a partial sub-buffer, and how often readers look; 0: not set.
 */
struct periods { uint64_t hold, look; };
/*
 * The periods of a channel, by the owner of its streams (trace.owner). channel NULL: the shortest
 * `look` of all.
 */
struct periods session_periods(struct session *s, const char *owner, const char *channel);

/*
 * All streams of the session that ever held an event (channel NULL: of all channels), referenced.
 * Returns 0 or -ENOMEM.
 */
int session_streams(struct session *s, const char *channel, struct stream_set *out);
/* The same with those that never held an event. */
int session_rings(struct session *s, struct stream_set *out);

/* The attributes file_size and file_count of a channel. */
void session_file_limits(struct session *s, bool kernel, const char *channel, uint64_t *size,
			 uint32_t *count);

/*
 * With an output, views read its files: writes what the rings have into them. False: not all of it.
 */
bool session_flush(struct session *s);
/*
 * Takes the session's streams and a time: every event not later than *now is visible in them,
 * because a barrier ran. Later events may be visible.
 */
int session_look(struct session *s, const char *channel, struct stream_set *out, uint64_t *now);

#endif
