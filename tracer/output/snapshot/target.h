/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the snapshots of a session go, besides memory: the lines of `snapshot_outputs`,
 *
 *	PLACE [max-size N]
 *
 * PLACE is a directory or the address of a relay (relay/url.h); the address for packets of a
 * tcp:// pair follows it on the line. A target has no lock of its own: session.lock and tracer.lock
 * guard the session's list. Used by snapshot/ and trigger/.
 */
#ifndef TRACER_SNAPSHOT_TARGET_H
#define TRACER_SNAPSHOT_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "metadata/buf.h"
#include "tracer/base/lexer.h"
#include "tracer/session/session.h"
#include "tracer/output/snapshot/snapshot.h"

#define SNAPSHOT_TARGETS_MAX 16         /* of a session */

struct snapshot_target {
	struct snapshot_target *next;
	char *place;	/* an absolute path, or an address as relay_address has it */
	bool remote;                    /* it is a relay's */
	uint64_t max_size;	/* of a snapshot's stream files together, bytes; 0: no limit */
};

/* Reads PLACE. 0 or -errno with a sentence and caret; *out is new then. */
int target_parse(struct scan *s, struct word *w, struct snapshot_target **out);
/*
 * w is `max-size`, with N in the next word, or `max-size=N`: reads N, which is 0 before. 1: w is
 * another word. -errno with a sentence and caret.
 */
int target_parse_limit(struct scan *s, struct word *w, uint64_t *out);
struct snapshot_target *target_copy(const struct snapshot_target *t);   /* NULL: no memory */
void targets_free(struct snapshot_target *list);        /* NULL is allowed */
/* The line of a target, with its newline. */
void target_print(const struct snapshot_target *t, struct md_buf *out);

/* A line that target_print printed. NULL: it is invalid, or there is no memory. */
struct snapshot_target *target_read(const char *line);
/* The setting `snapshot_outputs` (base/setting.h). Directories are made. */
void snapshot_outputs_show(const void *session, struct md_buf *out);
int snapshot_outputs_store(void *session, const char *text, bool replace, struct tr_err *err);
/* The lines of `snapshot_outputs`. Caller holds tracer.lock. */
void targets_save(const struct session *s, struct md_buf *out);
/* A line that targets_save printed, after its key. No other thread knows the session yet. */
void targets_restore(struct session *s, const char *line);

#endif
