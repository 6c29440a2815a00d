/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that waits for the end of the keeper. While the daemon lives it starts another one and hands it everything that the
 * first one held: so the keeper can be killed, or the daemon, and nothing is lost.
 */
#ifndef TRACER_KEEPER_GUARD_H
#define TRACER_KEEPER_GUARD_H

struct tracer;

/* Without a thread for it the daemon works as before; that is reported. */
void keeper_guard_start(struct tracer *t);
/* Without the lock. Waits until a hand-over that has begun is done. */
void keeper_guard_stop(struct tracer *t);

#endif
