/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A state directory without a daemon: its sessions, with the buffers that can be found, for reading. Nothing in the
 * directory is changed, nothing is believed: it may be a copy from another machine, or from somebody who means harm.
 *
 *	recovery_open, then recovery_keeper and recovery_scan for the buffers, then recovery_sessions; from there on
 *	sessions_list, session_get, session_status and moments are as in tracer.h; recovery_close.
 */
#ifndef TRACER_RECOVER_H
#define TRACER_RECOVER_H

#include "tracer/tracer.h"

/* report: for what is wrong but does not end it, one line without a newline; may be NULL. */
int recovery_open(const char *state_dir, void (*report)(void *arg, const char *line), void *arg, struct tracer **out,
		  struct tr_err *err);
/*
 * Takes the buffers and the snapshots that the directory's keeper holds, if there is one. Returns the
 * number of buffers, or -errno.
 */
int recovery_keeper(struct tracer *t);
/*
 * The buffers that are found in an open file: a buffer's own memory or a copy of it, or an image (a core dump, say) in which
 * they begin at multiples of 4096. How many, or -errno. Of two copies of one buffer that is taken in which more was written.
 */
int recovery_scan(struct tracer *t, int fd);
/*
 * The sessions, with those buffers that are theirs: call it once. How many buffers no session claims. only_unwritten: of a session with an output, moments have
 * what was not written there yet; else all that the buffers hold.
 */
size_t recovery_sessions(struct tracer *t, bool only_unwritten);
void recovery_close(struct tracer *t);

#endif
