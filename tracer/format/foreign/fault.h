/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Planted faults, for tests: whether the daemon survives what a trace could do to its reader. Only
 * with the environment variable TRAILFS_IMPORT_FAULT, whose value is the limit of time in seconds.
 * Private to foreign/.
 */
#ifndef TRACER_FOREIGN_FAULT_H
#define TRACER_FOREIGN_FAULT_H

#include "tracer/format/import/import.h"

#define FAULT_VARIABLE "TRAILFS_IMPORT_FAULT"

/* The limit; 0: there are no faults. */
unsigned int fault_seconds(void);
/*
 * Does what a file `fault-WHEN-WHAT` of the trace says, unless that was removed: segv, spin, sleep,
 * call (a system call that is not allowed), exit, lie (bytes that are no events).
 */
void fault_happen(const struct import *im, const char *when, struct md_buf *out);

#endif
