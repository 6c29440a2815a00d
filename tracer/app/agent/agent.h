/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LTTng's agents: libraries that give the records of a program's loggers (Python's logging,
 * java.util.logging, log4j) to liblttng-ust as events `lttng_python:event` and so on. An agent
 * connects to the daemon by TCP, which tells it which loggers to listen to. A session records these
 * events by an ordinary user channel with a fixed name; the files of its directory python/ show and
 * change this channel. The hidden session of a trigger on loggers has the same channel.
 *
 *	agent.h        (this file) what the tracer calls; tracer.h has what fs/ calls
 *	kind.c         the domains: their events, channels and log levels (kind.h)
 *	agent_rule.c   rules on loggers, as rules of the channel (agent_rule.h)
 *	agent_events.c writes and reads the rules of a domain
 *	server.c       the thread that agents talk to (server.h)
 *	link.c         one agent's connection
 *	port_file.c    the port, and the file in which agents look for it (port_file.h)
 *	tcp_table.c    who has the other end of a connection (tcp_table.h)
 *
 * Locks: agents.lock, in server.h.
 */
#ifndef TRACER_AGENT_AGENT_H
#define TRACER_AGENT_AGENT_H

#include "tracer/session/part.h"

extern const struct session_part agent_part;
extern const struct tracer_room agent_room;

/*
 * Starts the thread, which serves agents while a session, also a hidden one, has a rule on loggers.
 * A failure is reported; then no agent is served.
 */
void agents_open(struct tracer *t);
/* Ends it and removes the port file. No other thread uses the tracer. */
void agents_close(struct tracer *t);

#endif
