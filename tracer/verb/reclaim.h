/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of buffers that is given back, when a user says so or when it is old. */
#ifndef TRACER_VERB_RECLAIM_H
#define TRACER_VERB_RECLAIM_H

#include <stddef.h>
#include <stdint.h>

#include "tracer/base/err.h"

struct session;
struct session_part;
struct tracer;

/*
 * The verb: what was read or cleared; with an age (us), of that, and of what a flight recorder
 * holds, what is older. Without locks; takes 1 ms for some MiB.
 */
void session_reclaim(struct session *s, uint64_t age);
/* Its arguments, from byte `at` on: older-than TIME. 0 or -EINVAL with a sentence. */
int reclaim_parse(const char *words, size_t at, uint64_t *age, struct tr_err *err);

/* Starts the thread when a channel of a session has memory_max_age. */
extern const struct session_part reclaim_part;
int reclaimer_open(struct tracer *t);           /* 0 or -ENOMEM */
void reclaimer_stop(struct tracer *t);          /* ends the thread; without locks */
void reclaimer_close(struct tracer *t);

#endif
