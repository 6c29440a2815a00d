/* SPDX-License-Identifier: MIT */
/*
 * State dumps: events about the present state, for a session that has just begun. A module with
 * state registers with trail__on_statedump().
 */
#ifndef USTLIB_STATEDUMP_H
#define USTLIB_STATEDUMP_H

#include "ustlib/lib.h"

/*
 * Runs what is registered. Called without locks by the thread that attached, when the plan's
 * `statedump` is not 0 nor the last one seen. Async-signal-safe, keeps errno. If it is already
 * running, in this or another thread, it runs once more there.
 */
void TRAIL_HIDDEN trail__statedump_run(void);
/*
 * The same in a constructor. What registers later was not there to be called, so it runs when it
 * registers.
 */
void TRAIL_HIDDEN statedump_early(void);

#endif
