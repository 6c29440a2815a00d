// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/app/agent/kind.h"

#define LOG4J_LEVELS(off, fatal, error, warn, info, debug, trace, all)                             \
	{                                                                                          \
		{ "off", off }, { "fatal", fatal }, { "error", error }, { "warn", warn },          \
		{ "info", info }, { "debug", debug }, { "trace", trace }, { "all", all }           \
	}

const struct agent_kind agent_kinds[AGENT_DOMAINS] = {
	[AGENT_JUL] = {
		.name = "jul", .channel = "lttng_jul_channel", .event = "lttng_jul:event",
		.protocol = 3, .has_contexts = true,
		.levels = { { "off", INT32_MAX }, { "severe", 1000 }, { "warning", 900 },
			    { "info", 800 }, { "config", 700 }, { "fine", 500 }, { "finer", 400 },
			    { "finest", 300 }, { "all", INT32_MIN } },
	},
	[AGENT_LOG4J] = {
		.name = "log4j", .channel = "lttng_log4j_channel", .event = "lttng_log4j:event",
		.protocol = 4, .has_contexts = true,
		.levels = LOG4J_LEVELS(INT32_MAX, 50000, 40000, 30000, 20000, 10000, 5000,
				       INT32_MIN),
	},
	[AGENT_LOG4J2] = {
		.name = "log4j2", .channel = "lttng_log4j2_channel", .event = "lttng_log4j2:event",
		.protocol = 6, .severe_is_low = true, .has_contexts = true,
		.levels = LOG4J_LEVELS(0, 100, 200, 300, 400, 500, 600, INT32_MAX),
	},
	[AGENT_PYTHON] = {
		.name = "python", .channel = "lttng_python_channel", .event = "lttng_python:event",
		.protocol = 5,
		.levels = { { "critical", 50 }, { "error", 40 }, { "warning", 30 }, { "info", 20 },
			    { "debug", 10 }, { "notset", 0 } },
	},
};

const char *agent_domain_name(enum agent_domain domain)
{
	return agent_kinds[domain].name;
}

const char *agent_channel(enum agent_domain domain)
{
	return agent_kinds[domain].channel;
}
