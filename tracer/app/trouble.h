/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trouble.c: what programs do to their buffers, or cannot do with them, and the lines `problem` of
 * a session's status that say so. All under tracer.lock.
 */
#ifndef TRACER_APP_TROUBLE_H
#define TRACER_APP_TROUBLE_H

#include <sys/socket.h>

#include "tracer/base/facts.h"
#include "tracer/session/session.h"

#define TROUBLES_MAX 16u        /* regions of one message that are looked for */

/* A program of the user wrote over the header or the switches of a buffer of the channel. */
void trouble_spoiled(struct channel *c, uint32_t uid);
/* The process, of this name, could not map the region. What it says is not trusted. */
void trouble_unmapped(struct tracer *t, const struct ucred *peer, const char *comm,
		      const struct trail_taken_region *r);
void trouble_show(const struct session *s, struct facts *out);

#endif
