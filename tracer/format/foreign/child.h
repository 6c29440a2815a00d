/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's end of a process that reads a foreign trace (protocol.h). Private to foreign/.
 *
 * The process is started by the first ask, and again by the next ask after it has ended. A user has
 * PROCESSES_MAX of them; the one that was not used for the longest time ends for another one.
 *
 * Locks: child.lock guards the process and which lines are in use; an ask holds a line, not the
 * lock. A process starts and opens its trace under the lock: others need the same. Any thread may
 * ask; the caller holds no lock that threads without this trace wait for.
 */
#ifndef TRACER_FOREIGN_CHILD_H
#define TRACER_FOREIGN_CHILD_H

#include "tracer/base/os/cred.h"
#include "tracer/format/foreign/protocol.h"
#include "tracer/format/import/import.h"

#define PROCESSES_MAX 8u        /* of a user */
#define REASON_SIZE 320u        /* of a sentence */

struct child;

/* path and files belong to the caller and remain until child_free. NULL: no memory. */
struct child *child_new(const char *path, const struct import_file *files, size_t file_count,
			    const struct owner *owner);
/*
 * Starts it; appends its model to `out`. 0 or -errno with a sentence, as the format of the trace
 * gives it or about the process.
 */
int child_open(struct child *p, struct md_buf *out, struct tr_err *err);
/*
 * Asks, and appends the bytes of the answer to `out`. Returns a->ret; or -EIO: the process did not
 * answer, was ended, or may not start again yet; `why` has a sentence about its end then, or is ""
 * if an ask before has got that. -ENOMEM. The bytes are checked no further.
 */
int child_ask(struct child *p, const struct ask *q, struct answer *a, struct md_buf *out,
		char why[REASON_SIZE]);
/* Ends it, since its answer was not valid. `why` as above. Returns -EIO. */
int child_refuse(struct child *p, const char *what, char why[REASON_SIZE]);
void child_free(struct child *p);           /* NULL is allowed */

#endif
