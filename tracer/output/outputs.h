/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tree and views show of a session's output. Any thread. */
#ifndef TRACER_OUTPUTS_H
#define TRACER_OUTPUTS_H

#include <stdint.h>

#include "metadata/buf.h"

struct session;

/* Text for `error`: failures since then that still hold. */
void session_troubles(struct session *s, struct md_buf *out);

/*
 * Number of the output's current chunk; 0 without an output. Older chunks are in the archives, not
 * in the session's views.
 */
uint64_t session_chunk(struct session *s);

#endif
