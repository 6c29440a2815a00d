/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of buffers that is given back, when a user says so or when it is old. */
#ifndef TRACER_VERB_RECLAIM_H
#define TRACER_VERB_RECLAIM_H

#include "tracer/session/part.h"
#include "tracer/session/verb.h"

struct tracer;

extern const struct session_verb reclaim_verb;
/* Starts the thread when a channel of a session has memory_max_age. */
extern const struct session_part reclaim_part;
extern const struct tracer_room reclaim_room;
void reclaimer_stop(struct tracer *t);          /* ends the thread; without locks */

#endif
