/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "tests/lib/test.h"
#include "tracer/app/agent/agent_rule.h"

/* The rule of the channel that a user's line becomes; "": an error. */
static const char *translate(enum agent_domain domain, const char *line, struct md_buf *out)
{
	struct tr_err err = TR_ERR_INIT;
	struct rule r;

	md_buf_reset(out);
	if (agent_rule_parse(SCAN(line, 0, &err), &agent_kinds[domain], NULL, &r)) {
		CHECK(err.sentence[0] && err.column >= 0);
		return "";
	}
	md_buf_puts(out, r.text);
	rule_deinit(&r);
	return md_buf_str(out);
}

/* What the user reads for a rule of the channel; "": nothing. */
static const char *read_back(enum agent_domain domain, const char *line, struct md_buf *out)
{
	const struct agent_kind *k = &agent_kinds[domain];
	struct agent_rule back;
	struct rule r;

	md_buf_reset(out);
	CHECK(rule_parse(SCAN(line, 0, NULL), DOMAIN_USER, NULL, &r) == 0);
	if (agent_rule_read(k, &r, &back))
		agent_rule_print(k, &back, out);
	rule_deinit(&r);
	return md_buf_str(out);
}

static void there_and_back(void)
{
	static const struct {
		enum agent_domain domain;
		const char *line, *rule, *back;
	} cases[] = {
		{ AGENT_PYTHON, " * ", "lttng_python:event", "*" },
		{ AGENT_PYTHON, "a.b*", "lttng_python:event if logger_name == \"a.b*\"", "a.b*" },
		{ AGENT_JUL, "a\\*b", "lttng_jul:event if logger_name == \"a\\*b\"", "a\\*b" },
		{ AGENT_PYTHON, "* loglevel Warning..", "lttng_python:event if int_loglevel >= 30",
		  "* loglevel >= warning" },
		{ AGENT_LOG4J2, "* loglevel warn..", "lttng_log4j2:event if int_loglevel <= 300",
		  "* loglevel <= warn" },
		{ AGENT_LOG4J, "* loglevel all",
		  "lttng_log4j:event if int_loglevel == -2147483648", "* loglevel all" },
		{ AGENT_PYTHON, "x loglevel 40..15",
		  "lttng_python:event if logger_name == \"x\" && int_loglevel >= 15 && "
		  "int_loglevel <= 40",
		  "x loglevel 15..error" },
		{ AGENT_PYTHON, "x loglevel < info if a == 1 || b == \")\"",
		  "lttng_python:event if logger_name == \"x\" && int_loglevel < 20 && "
		  "(a == 1 || b == \")\")",
		  "x loglevel < info if a == 1 || b == \")\"" },
		{ AGENT_PYTHON, "* if a == 1 || b", "lttng_python:event if a == 1 || b",
		  "* if a == 1 || b" },
		{ AGENT_PYTHON, "\"two words\"",
		  "lttng_python:event if logger_name == \"two words\"",
		  "\"two words\"" },
	};
	struct md_buf out = MD_BUF_INIT;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK(!strcmp(translate(cases[i].domain, cases[i].line, &out), cases[i].rule));
		CHECK(!strcmp(read_back(cases[i].domain, cases[i].rule, &out), cases[i].back));
		/* What is read can be written, and is the same rule. */
		CHECK(!strcmp(translate(cases[i].domain, cases[i].back, &out), cases[i].rule));
	}
	md_buf_deinit(&out);
}

/* Rules that were written to the channel itself keep their meaning. */
static void foreign_rules(void)
{
	static const struct { const char *rule, *back; } cases[] = {
		{ "*", "" },
		{ "lttng_python:* if a", "" },
		{ "lttng_python:event loglevel info", "" },
		{ "lttng_python:event except a:b", "" },
		{ "lttng_python:event if logger_name == \"x\" || a",
		  "* if logger_name == \"x\" || a" },
		{ "lttng_python:event if logger_name == \"x\" && (a) || (b)",
		  "* if logger_name == \"x\" && (a) || (b)" },
		{ "lttng_python:event if logger_name == \"x\" && a",
		  "* if logger_name == \"x\" && a" },
		{ "lttng_python:event if int_loglevel >= 30 & 6",
		  "* if int_loglevel >= 30 & 6" },
		{ "lttng_python:event if int_loglevel >= 0x1e",
		  "* if int_loglevel >= 0x1e" },
	};
	struct md_buf out = MD_BUF_INIT;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (cases[i].back)
			CHECK(!strcmp(read_back(AGENT_PYTHON, cases[i].rule, &out), cases[i].back));
	md_buf_deinit(&out);
}

static void mistakes(void)
{
	static const char *const lines[] = {
		"if a", "loglevel info", "x y", "x loglevel", "x loglevel loud",
		"x loglevel != info", "x loglevel <> 3", "x loglevel 30.5",
		"x loglevel 99999999999", "x loglevel 30 40", "x loglevel 3 loglevel 4",
		"x if", "x if )", "a\\b", "\"\"",
	};
	char name[300] = "";
	struct md_buf out = MD_BUF_INIT;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		CHECK(!*translate(AGENT_PYTHON, lines[i], &out));
	memset(name, 'x', LOGGER_MAX + 1);
	CHECK(!*translate(AGENT_PYTHON, name, &out));
	CHECK(*translate(AGENT_PYTHON, name + 1, &out));
	md_buf_deinit(&out);
}

int main(void)
{
	CASE(there_and_back);
	CASE(foreign_rules);
	CASE(mistakes);
	return test_summary();
}
