/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules on loggers. A rule
 *
 *	LOGGER [loglevel LEVEL | LEVEL.. | A..B | OP LEVEL] [if FILTER]
 *
 * is the rule of a user channel
 *
 *	lttng_python:event if logger_name == "LOGGER" && int_loglevel >= 30 && (FILTER)
 *
 * without the conditions that it does not need. Translation back gives a rule of the same meaning.
 * No lock, any thread.
 */
#ifndef TRACER_AGENT_AGENT_RULE_H
#define TRACER_AGENT_AGENT_RULE_H

#include "tracer/app/agent/kind.h"
#include "tracer/base/rule/rule.h"

#define LOGGER_MAX 255u         /* bytes of a logger's name in the protocol */

struct agent_rule {
	char logger[LOGGER_MAX + 1];    /* with stars; a literal star as \* */
	char op[3];                     /* "": any level; ".." : a range */
	long level, level_end;          /* of a range: level <= level_end */
	const char *filter;             /* in the rule's text; NULL: none */
	size_t filter_size;
};

/*
 * Translates one line from `at` on, which is after `!` and `~`; appends the channel's rule without
 * a newline. plain: set if the line is a logger's name alone. 0, or -errno with text and column.
 */
int agent_rule_write(const struct agent_kind *k, const char *line, size_t at, struct md_buf *out,
		     bool *plain, struct tr_err *err);
/* Translates a rule of the channel back. False: it is none on this domain's event alone. */
bool agent_rule_read(const struct agent_kind *k, const struct rule *r, struct agent_rule *out);
/* Appends the line that the user sees, without `~` and newline. */
void agent_rule_print(const struct agent_kind *k, const struct agent_rule *r, struct md_buf *out);

#endif
