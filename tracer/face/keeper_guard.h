/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that waits for the end of the keeper. While the daemon lives, the thread then starts
 * another keeper and hands it everything that the first one held. So the loss of either process
 * loses no data.
 */
#ifndef TRACER_KEEPER_GUARD_H
#define TRACER_KEEPER_GUARD_H

struct tracer;

/* Starts the thread. If it cannot run, that is reported and the daemon works without it. */
void keeper_guard_start(struct tracer *t);
/* Waits for a hand-over that has begun. Caller does not hold tracer.lock. */
void keeper_guard_stop(struct tracer *t);

/* held.c: gives the keeper again what tracer_hold gave to the one that has ended. */
void held_keep(struct tracer *t);

#endif
