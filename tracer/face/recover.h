/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a state directory without a daemon: its sessions, and those of their buffers that can be
 * found. Nothing in the directory is changed or trusted: it may be a copy from another machine, or
 * made to do harm.
 *
 *	recovery_open; recovery_keeper and recovery_scan, for the buffers; recovery_sessions;
 *	sessions_list, session_get, session_status and images as in tracer.h; recovery_close.
 */
#ifndef TRACER_RECOVER_H
#define TRACER_RECOVER_H

#include "tracer/face/tracer.h"

/*
 * report: called for each error that does not end the recovery, with one line without a newline;
 * may be NULL.
 */
int recovery_open(const char *state_dir,
		  void (*report)(void *arg, const char *session, const char *line), void *arg,
		  struct tracer **out, struct tr_err *err);
/*
 * Takes the buffers and snapshots of the directory's keeper, if one runs. Returns the number of
 * buffers, or -errno.
 */
int recovery_keeper(struct tracer *t);
/*
 * Finds the buffers in an open file: a buffer's memory, a copy of it, or an image (a core dump,
 * say) in which buffers begin at multiples of 4096; or in all files of a directory. Returns their
 * number, or -errno. Of two copies of one buffer, the one with more events is used.
 */
int recovery_scan(struct tracer *t, int fd);
/*
 * Loads the sessions with their buffers; call it once. Returns the number of buffers that belong to
 * no session. only_unwritten: an image of a session with an output has only what its files do not
 * have; else all that the buffers hold.
 */
size_t recovery_sessions(struct tracer *t, bool only_unwritten);
void recovery_close(struct tracer *t);

#endif
