/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What tracer_guard_keeper() does after the end of the keeper: while the daemon lives, it starts
 * another keeper and hands it everything that the first one held. So the loss of either process
 * loses no data.
 */
#ifndef TRACER_KEEPER_GUARD_H
#define TRACER_KEEPER_GUARD_H

#include <stdint.h>
#include <sys/types.h>

struct tracer;

/* Only the thread that calls tracer_guard_keeper() uses it. */
struct keeper_guard {
	enum {
		GUARD_WATCH,            /* the keeper has all that it is to have */
		GUARD_START,            /* it has ended, and another is to be started */
		GUARD_PASS,             /* another has been started, and gets the buffers */
	} step;
	pid_t pid;                      /* of the last keeper that had all */
	int64_t due;                    /* of the next try, as `now` of tracer_guard_keeper() */
	int pause;                      /* ms before it */
	int error;                      /* -errno that was reported last */
	unsigned int buffers, snapshots;        /* that the new keeper gets */
};

/* Notes that the keeper has all. Before the tracer is used. */
void keeper_guard_begin(struct tracer *t);

/* held.c: gives the keeper again what tracer_hold gave to the one that has ended. */
void held_keep(struct tracer *t);

#endif
