/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loggers of Java and Python, which LTTng's agents give, as the tree shows them. Any thread. */
#ifndef TRACER_AGENTS_H
#define TRACER_AGENTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "metadata/buf.h"
#include "tracer/base/err.h"

struct tracer;
struct session;

enum agent_domain { AGENT_JUL, AGENT_LOG4J, AGENT_LOG4J2, AGENT_PYTHON, AGENT_DOMAINS };
const char *agent_domain_name(enum agent_domain domain);
/* The channel of the user domain that records them. The first rule or context makes it. */
const char *agent_channel(enum agent_domain domain);
/*
 * Rules on loggers, LOGGER [loglevel LEVELS] [if FILTER]; as events_show and events_store. Returns
 * when programs that start now find the daemon.
 */
int agent_events_show(struct session *s, enum agent_domain domain, struct md_buf *out);
int agent_events_store(struct session *s, enum agent_domain domain, const char *text, bool replace,
		       struct tr_err *err);
/* As contexts_store, of the domain's channel, which the first write makes. */
int agent_contexts_store(struct session *s, enum agent_domain domain, const char *text,
			 bool replace, struct tr_err *err);
/*
 * Names of loggers, sorted, of the programs whose agents are connected: one a line, or as a JSON
 * object. Waits for their answers, a second at most.
 */
void available_loggers(struct tracer *t, uid_t viewer, enum agent_domain domain, bool json,
		       struct md_buf *out);

#endif
