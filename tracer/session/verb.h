/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A verb of `control`: a row in the file of the part that does it, and a line in the list of
 * verb/verbs.c.
 */
#ifndef TRACER_SESSION_VERB_H
#define TRACER_SESSION_VERB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/base/err.h"

struct session;
struct session_shown;

/* A line of `control`, without its verb. */
struct verb_line {
	const char *arg;                /* what follows the verb; NULL: nothing does */
	uint64_t request;               /* of this line; 0: it has none */
};

struct session_verb {
	const char *name;
	const char *arguments;                  /* as `control` shows them; NULL: none */
	bool when_active, when_inactive;        /* `control` shows it then */
	/* It does so only if this returns true; NULL: always. */
	bool (*shown)(const struct session_shown *s);
	/* Of the arguments that begin at byte `at` of the words. */
	int (*check)(const char *words, size_t at, struct tr_err *err);
	/* Session locked; may release both locks meanwhile. */
	int (*run)(struct session *s, const struct verb_line *line, struct tr_err *err);
	int (*then)(struct session *s, struct tr_err *err);     /* Unlocked: it may take long. */
};

#endif
