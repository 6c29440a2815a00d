/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A condition, from its one line:
 *
 *	event user|kernel RULE [capture EXPR, …]
 *	event jul|log4j|log4j2|python RULE [capture EXPR, …]    on loggers: agent/agent_rule.h
 *	buffer SESSION/DOMAIN/CHANNEL > 75%     also < and bytes
 *	consumed SESSION > 10M
 *	discarded SESSION[/DOMAIN/CHANNEL] > 0
 *	rotation SESSION ongoing | completed
 *	session SESSION started | stopped | destroyed
 *
 * No state, no lock. Private to trigger/.
 */
#ifndef TRACER_TRIGGER_CONDITION_H
#define TRACER_TRIGGER_CONDITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/app/agent/kind.h"
#include "tracer/base/base.h"
#include "tracer/base/rule/rule.h"

enum condition_kind {
	CONDITION_NONE,                 /* never true */
	CONDITION_EVENT,
	CONDITION_BUFFER, CONDITION_CONSUMED, CONDITION_DISCARDED,
	CONDITION_ROTATION_ONGOING, CONDITION_ROTATION_COMPLETED,
	CONDITION_SESSION_STARTED, CONDITION_SESSION_STOPPED, CONDITION_SESSION_DESTROYED,
};

struct condition {
	enum condition_kind kind;
	/* as written, without blanks around it; owned; NULL: none */
	char *text;
	/* CONDITION_EVENT; the columns are those of the text */
	struct rule rule;               /* owned */
	int rule_column;
	struct condition_capture {
		char *text;             /* owned */
		int column;
	} *captures;                    /* owned */
	size_t capture_count;
	char session[201];
	int session_column;             /* where it is in the text */
	bool has_channel;
	enum domain domain;             /* of the channel, or of CONDITION_EVENT */
	const struct agent_kind *agent; /* CONDITION_EVENT, of a rule on loggers; else NULL */
	char channel[129];
	bool below;                     /* `<` */
	/* threshold is in hundredths of a percent, else bytes, events */
	bool percent;
	uint64_t threshold;
};

/* The first line of text that is not empty; none: CONDITION_NONE. -EINVAL or -ENOMEM. */
int condition_parse(const char *text, struct condition *out, struct tr_err *err);
void condition_deinit(struct condition *c);

#endif
