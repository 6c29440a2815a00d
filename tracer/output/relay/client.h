/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a producer of traces asks of a relay, one call for each command whose reply must be known.
 * All return 0 or -errno; -EREMOTEIO: the relay refused. Private to tracer/output/relay/.
 */
#ifndef TRACER_RELAY_CLIENT_H
#define TRACER_RELAY_CLIENT_H

#include "tracer/output/relay/link.h"

/*
 * Connects both sockets and agrees on a version, `minor` at most. -EPROTONOSUPPORT: the relay's is
 * older than RELAY_MINOR_MIN, or its major version is another one. After an error the link is
 * closed.
 */
int relay_open(struct relay_link *l, const struct relay_url *u, uint32_t minor);
/* path: the directory of the session as the relay says it; "" before version 2.11. */
int relay_create_session(struct relay_link *l, const struct relay_session_info *s,
			 char path[RELAY_PATH_MAX]);
int relay_add_stream(struct relay_link *l, const struct relay_stream_info *s, uint64_t *id);
/* The command in l->out has a reply with a code. */
int relay_run(struct relay_link *l);
int relay_close_chunk(struct relay_link *l, uint64_t id, uint64_t closed, enum relay_chunk_end end);
int relay_allows_clear(struct relay_link *l, bool *allowed);

#endif
