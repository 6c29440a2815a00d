/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far a write to `control` is executed. Each line is a step, and so is what follows its verb.
 * The session's file has the last step that had effect, so that a daemon that gets the write again
 * continues after it. Caller holds both locks of the session.
 */
#ifndef TRACER_VERB_STEPS_H
#define TRACER_VERB_STEPS_H

#include <stdbool.h>
#include <stdint.h>

struct session;

struct steps {
	struct session *session;
	uint64_t request;       /* the number of the write; 0: it has none, nothing is noted */
	uint64_t last;          /* the number of the last step; 0: none */
	int line;               /* the line that it belongs to; 0: none */
	bool then;              /* it is what follows the verb */
};

/* Of a write that begins, or that a killed daemon had begun. */
void steps_begin(struct steps *st, struct session *s, uint64_t request, const char *text);
/* The number of a step; 0: it has none. */
uint64_t steps_number(const struct steps *st, int line, bool then);
/* Whether the step has had effect. */
bool steps_have(const struct steps *st, int line, bool then);
/* The step has had effect. The caller saves the session. */
void steps_add(struct steps *st, int line, bool then);

#endif
