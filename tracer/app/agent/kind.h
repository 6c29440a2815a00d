/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The domains of agents, as LTTng names and numbers them. Constants: no lock. */
#ifndef TRACER_AGENT_KIND_H
#define TRACER_AGENT_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/app/agent/agents.h"

#define AGENT_LEVELS 10

struct agent_level {
	const char *name;       /* NULL: no more */
	int32_t number;
};

struct agent_kind {
	const char *name;       /* of the directory */
	const char *channel;    /* its channel in the user domain */
	const char *event;      /* the tracepoint of its library */
	uint32_t protocol;      /* its number in the agents' protocol */
	bool severe_is_low;     /* a smaller level is more severe */
	bool has_contexts;      /* its agents know the commands for application contexts */
	struct agent_level levels[AGENT_LEVELS];
};

extern const struct agent_kind agent_kinds[AGENT_DOMAINS];

#endif
