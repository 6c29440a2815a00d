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
 * without the conditions that it does not need. The channel's file and the state directory have
 * this form, so what is shown of a rule is read from the tree of its filter; a rule that was
 * written to the channel itself is shown, too. No lock, any thread.
 */
#ifndef TRACER_AGENT_AGENT_RULE_H
#define TRACER_AGENT_AGENT_RULE_H

#include "tracer/app/agent/kind.h"
#include "tracer/base/rule/rule.h"

#define LOGGER_MAX 255u         /* bytes of a logger's name in the protocol */

struct agent_rule {
	char logger[LOGGER_MAX + 1];    /* with stars; a literal star as \* */
	const char *op;                 /* "<=", or ".." for a range; NULL: any level */
	long level, level_end;          /* of a range: level <= level_end */
	const struct filter *filter;    /* the rule's */
	const struct filter_node *rest; /* what of it is no logger and no level; NULL: nothing */
};

/*
 * Parses a rule from s->at, which is after `!` and `~`, as rule_parse does; *out is a rule of the
 * channel. 0, or -errno with text and column.
 */
int agent_rule_parse(struct scan *s, const struct agent_kind *k, const char *const *stops,
		     struct rule *out);
/*
 * Reads a rule of the channel; *out is valid as long as the rule. False: the
 * rule names other events than this domain's.
 */
bool agent_rule_read(const struct agent_kind *k, const struct rule *r, struct agent_rule *out);
/* Appends the line that the user sees, without `~` and newline. */
void agent_rule_print(const struct agent_kind *k, const struct agent_rule *r, struct md_buf *out);

#endif
