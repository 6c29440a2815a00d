/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Conditions and actions of triggers: what is parsed, and where mistakes are. */
#include <errno.h>

#include "tests/lib/test.h"
#include "tracer/base/filter/filter.h"
#include "tracer/trigger/action.h"
#include "tracer/trigger/condition.h"

/* The parts of a condition, or "LINE:COLUMN: SENTENCE". */
static const char *parse(const char *text)
{
	static struct md_buf out;
	struct tr_err err = TR_ERR_INIT;
	struct condition c;

	md_buf_reset(&out);
	if (condition_parse(text, &c, &err)) {
		md_buf_printf(&out, "%d:%d: %s", err.line, err.column, err.sentence);
		return md_buf_str(&out);
	}
	md_buf_printf(&out, "%d", (int)c.kind);
	if (c.kind == CONDITION_EVENT) {
		CHECK(!strncmp(c.text + c.rule_column, c.rule.source, strlen(c.rule.source)));
		md_buf_printf(&out, " %s", c.rule.text);
	}
	if (c.session[0]) {
		CHECK(!strncmp(c.text + c.session_column, c.session, strlen(c.session)));
		md_buf_printf(&out, " %s", c.session);
	}
	if (c.has_channel)
		md_buf_printf(&out, "/%d/%s", (int)c.domain, c.channel);
	if (c.threshold || c.below)
		md_buf_printf(&out, " %s %llu%s", c.below ? "<" : ">",
			      (unsigned long long)c.threshold, c.percent ? "/100%" : "");
	for (size_t i = 0; i < c.capture_count; i++) {
		CHECK(!strncmp(c.text + c.captures[i].column, c.captures[i].text,
			       strlen(c.captures[i].text)));
		md_buf_printf(&out, "%s%s", i ? "," : " capture ", c.captures[i].text);
	}
	condition_deinit(&c);
	return md_buf_str(&out);
}

static void conditions(void)
{
	CHECK_STR(parse(""), "0");
	CHECK_STR(parse(" \r\n\n\t"), "0");
	CHECK_STR(parse("\n  session s started \r\n\n"), "7 s");
	CHECK_STR(parse("session s stopped"), "8 s");
	CHECK_STR(parse("session s destroyed"), "9 s");
	CHECK_STR(parse("rotation s ongoing"), "5 s");
	CHECK_STR(parse("rotation s completed"), "6 s");
	CHECK_STR(parse("consumed s > 10M"), "3 s > 10485760");
	CHECK_STR(parse("discarded s > 7"), "4 s > 7");
	CHECK_STR(parse("discarded s/kernel/c > 7"), "4 s/1/c > 7");
	CHECK_STR(parse("buffer s/user/c > 12.5%"), "2 s/0/c > 1250/100%");
	CHECK_STR(parse("buffer s/user/c < 4k"), "2 s/0/c < 4096");
}

static void events(void)
{
	CHECK_STR(parse("event user a:b"), "1 a:b");
	CHECK_STR(parse("  event user a:b  if x==1  capture  x , y.z[2], $ctx.vpid,$app.p:n"),
		  "1 a:b if x == 1 capture x,y.z[2],$ctx.vpid,$app.p:n");
	CHECK_STR(parse("event user a:* except a:capture capture x"),
		  "1 a:* except a:capture capture x");
	CHECK_STR(parse("event user a:b if capture == 1 && s == \"a capture b\" capture capture"),
		  "1 a:b if capture == 1 && s == \"a capture b\" capture capture");
	CHECK_STR(parse("event kernel sched_switch"), "1 sched_switch");
	CHECK_STR(parse("event kernel kprobe:f with $arg1 as x capture x"),
		  "1 kprobe:f with $arg1 as x capture x");
	CHECK_STR(parse("event python app.* loglevel error.. if msg != \"x\" capture msg"),
		  "1 lttng_python:event if logger_name == \"app.*\" && int_loglevel >= 40 && "
		  "(msg != \"x\") capture msg");
	CHECK_STR(parse("event jul a capture msg"),
		  "1 lttng_jul:event if logger_name == \"a\" capture msg");
}

static void mistakes(void)
{
	CHECK_STR(parse("\n\n events user a:b"),
		  "3:0: no such condition 'events'; did you mean 'event'?");
	CHECK_STR(parse("event user"), "1:10: a rule is missing here");
	CHECK_STR(parse("event user capture x"), "1:11: a rule is missing here");
	CHECK_STR(parse("event user ~a:b"), "1:11: a rule begins with a pattern");
	CHECK_STR(parse("event user a:b if x > 1 captures x"),
		  "1:24: no such keyword 'captures'; did you mean 'capture'?");
	CHECK_STR(parse("event user a:b captur x"),
		  "1:15: no such keyword 'captur'; did you mean 'capture'?");
	CHECK_STR(parse("event python a captur x"),
		  "1:15: no such keyword 'captur'; did you mean 'capture'?");
	CHECK_STR(parse("event user a:b if x = 1"), "1:20: '=' is no operator; did you mean '=='?");
	CHECK_STR(parse("event python a if x = 1"), "1:20: '=' is no operator; did you mean '=='?");
	CHECK_STR(parse("event user a:b capture"), "1:22: a capture is a field (a, a.b, a[0]), "
						  "$ctx.NAME or $app.P:NAME");
	CHECK_STR(parse("event user a:b capture \"x\""), "1:23: a capture is a field (a, a.b, "
						       "a[0]), $ctx.NAME or $app.P:NAME");
	CHECK_STR(parse("event user a:b capture x."), "1:23: a capture is a field (a, a.b, a[0]), "
						     "$ctx.NAME or $app.P:NAME");
	CHECK_STR(parse("event user a:b capture x y"), "1:25: 'y' is not expected here");
	CHECK_STR(parse("session s started\nsession s stopped"),
		  "2:0: a trigger has one condition");
	CHECK_STR(parse("session s started now"), "1:18: 'now' is not expected here");
	CHECK_STR(parse("buffer s/use/c > 1"), "1:9: the domain is user or kernel");
	CHECK_STR(parse("buffer s/user/c > 101%"),
		  "1:18: a share is from 0% to 100%, for instance 75%");
}

/* "KIND SESSION NAME RATE" of an action, or "COLUMN: SENTENCE". */
static const char *act(const char *line)
{
	static char out[800];
	struct tr_err err = TR_ERR_INIT;
	struct action a;

	if (action_parse(line, &a, &err))
		snprintf(out, sizeof(out), "%d: %s", err.column, err.sentence);
	else
		snprintf(out, sizeof(out), "%d %s %s %s%llu", (int)a.kind, a.session,
			 a.snapshot.name, a.once ? "once " : "", (unsigned long long)a.rate);
	action_deinit(&a);
	return out;
}

static void actions(void)
{
	struct action a;

	CHECK_STR(act("notify"), "0   1");
	CHECK_STR(act(" stop s every 3 "), "2 s  3");
	CHECK_STR(act("snapshot s n max-size 1M once-after 2"), "5 s n once 2");
	CHECK_STR(act("snapshot s last 10s after 5s every 2"), "5 s  2");
	CHECK_STR(act("snapshot s n last"), "17: a time is missing here, as in 'last 10s'");
	CHECK_STR(act("stpo s"), "0: no such action 'stpo'; did you mean 'stop'?");
	CHECK_STR(act("stop s evry 3"), "7: 'evry' is not expected here; did you mean 'every'?");
	CHECK_STR(act("stop s every 0"), "13: must be at least 1");
	CHECK_STR(act("notify every 2 once-after 3"),
		  "15: an action has one rate: every or once-after");
	CHECK(!action_parse("notify every 3", &a, NULL));
	a.base = 10;
	CHECK(!action_due(&a, 12) && action_due(&a, 13) && action_due(&a, 16));
	CHECK(action_count_due(&a, 12) == 0 && action_count_due(&a, 19) == 3);
	action_deinit(&a);
	CHECK(!action_parse("notify once-after 3", &a, NULL));
	CHECK(action_due(&a, 3) && !action_due(&a, 6) && action_count_due(&a, 9) == 1);
	action_deinit(&a);
}

int main(void)
{
	CASE(conditions);
	CASE(events);
	CASE(mistakes);
	CASE(actions);
	return test_summary();
}
