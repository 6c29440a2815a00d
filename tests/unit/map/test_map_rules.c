/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules of maps: the event rule and where it ends, fields, operators, and mistakes. */
#include <errno.h>

#include "tests/lib/test.h"
#include "tracer/view/map/rules.h"

/* "EVENT[+EVENT]; on …; by …; OPERATOR …; shown" of a line, or "COLUMN: SENTENCE". */
static const char *parse_in(enum domain domain, const char *line)
{
	static struct md_buf out;
	struct map_rules none = { 0 }, all;
	struct tr_err err = TR_ERR_INIT;
	const struct map_rule *r;

	md_buf_reset(&out);
	if (map_rules_apply(&none, domain, line, true, &all, &err)) {
		md_buf_printf(&out, "%d: %s", err.column, err.sentence);
		return md_buf_str(&out);
	}
	CHECK(all.count == 1);
	r = &all.rules[0];
	CHECK(r->columns[0] >= 0 && !strncmp(r->text + r->columns[0], r->events[0].source,
					     strlen(r->events[0].source)));
	md_buf_puts(&out, r->events[0].text);
	if (r->pair)
		md_buf_printf(&out, " + %s", r->events[1].text);
	for (size_t i = 0; i < r->on_count; i++)
		md_buf_printf(&out, strcmp(r->on[0][i].text, r->on[1][i].text) ? "%s%s=%s" : "%s%s",
			      i ? "," : "; on ", r->on[0][i].text, r->on[1][i].text);
	for (size_t i = 0; i < r->by_count; i++)
		md_buf_printf(&out, "%s%s", i ? "," : "; by ", r->by[i].text);
	for (size_t i = 0; i < r->op_count; i++)
		md_buf_printf(&out, "%s%s", i ? "," : "; ", r->ops[i].label);
	if (r->shown)
		md_buf_printf(&out, "; %u", r->shown);
	map_rules_deinit(&all);
	return md_buf_str(&out);
}

static const char *parse(const char *line)
{
	return parse_in(DOMAIN_USER, line);
}

static void where_the_event_rule_ends(void)
{
	CHECK_STR(parse("a:b"), "a:b; count");
	CHECK_STR(parse("a:b by x"), "a:b; by x; count");
	CHECK_STR(parse("a:b sum(x)"), "a:b; sum(x)");
	CHECK_STR(parse("a:b   sum x,max y"), "a:b; sum(x),max(y)");
	CHECK_STR(parse("a:* except a:c by x"), "a:* except a:c; by x; count");
	CHECK_STR(parse("a:b loglevel info.. by x"), "a:b loglevel info..; by x; count");
	CHECK_STR(parse("a:b loglevel <= err hist(x)"), "a:b loglevel <= err; hist(x)");
	CHECK_STR(parse("a:b if count > 3 && by == on by count count"),
		  "a:b if count > 3 && by == on; by count; count");
	CHECK_STR(parse("a:b if s == \"x by y\" by z"), "a:b if s == \"x by y\"; by z; count");
	CHECK_STR(parse("a:b if (x)sum(y)"), "a:b if (x); sum(y)");
	CHECK_STR(parse("\"a:by\" by x"), "a:by; by x; count");
	CHECK_STR(parse_in(DOMAIN_KERNEL, "kprobe:f with $arg1 as by by by"),
		  "kprobe:f with $arg1 as by; by by; count");
	CHECK_STR(parse_in(DOMAIN_KERNEL, "\"uprobe:/a b:f\" if x by y"),
		  "\"uprobe:/a b:f\" if x; by y; count");
}

static void fields_and_operators(void)
{
	CHECK_STR(parse("a:b by x.y[3].z, $ctx.procname, $app.p:n count, avg x"),
		  "a:b; by x.y[3].z,$ctx.procname,$app.p:n; count,avg(x)");
	CHECK_STR(parse("a:b by x topk(3)"), "a:b; by x; count; 3");
	CHECK_STR(parse("a:b topk(x, 2), lhist(y, 0, 100, 10), min(z)"),
		  "a:b; topk(x),lhist(y),min(z)");
	CHECK_STR(parse("pair a:b a:c on tid"), "a:b + a:c; on tid; hist(latency)");
	CHECK_STR(parse("pair a:b if x > 1 && (y) a:c if z on t=u,v = w by first.n, m "
			"sum(first.k)"),
		  "a:b if x > 1 && (y) + a:c if z; on t=u,v=w; by first.n,m; sum(first.k)");
	CHECK_STR(parse("pair a:b if s == \"x\" \"a:c\" on t"),
		  "a:b if s == \"x\" + a:c; on t; hist(latency)");
	CHECK_STR(parse("a:* by $event, $provider, x"), "a:*; by $event,$provider,x; count");
	CHECK_STR(parse("pair \"a:b\" a:* on t, u by v max(latency)"),
		  "a:b + a:*; on t,u; by v; max(latency)");
}

static void mistakes(void)
{
	CHECK_STR(parse("ab by x"), "0: no provider in 'ab': events of applications are "
				    "provider:name, so a pattern is for instance 'ab:*'; "
				    "tracepoints of the kernel belong in kernel/events");
	CHECK_STR(parse("~a:b"), "0: a rule begins with a pattern");
	CHECK_STR(parse("a:b if x ="), "9: '=' is no operator; did you mean '=='?");
	CHECK_STR(parse("a:b if x > 3 bye y"), "13: no such keyword 'bye'; did you mean 'by'?");
	CHECK_STR(parse("a:b summ(x)"), "4: no such keyword 'summ'; did you mean 'sum'?");
	CHECK_STR(parse("a:b by x summ(y)"), "9: no such operator; did you mean 'sum'?");
	CHECK_STR(parse("a:b quantize(x)"), "4: no such operator; did you mean 'hist'?");
	CHECK_STR(parse("a:b by 3"), "7: expected a field, as path, $ctx.procname or $app.p:name");
	CHECK_STR(parse("a:b by $x.y"), "7: a context is $ctx.NAME or $app.PROVIDER:NAME; an event "
					"has $event and $provider");
	CHECK_STR(parse("a:b sum($event)"), "8: $event and $provider stand after 'by' only");
	CHECK_STR(parse("pair a:b a:c on x by first. y"),
		  "21: a field is NAME, with members .NAME and elements [NUMBER], at most 8 names "
		  "and elements in all");
	CHECK_STR(parse("pair a:b if x and y a:c on t"), "14: 'and' is no operator; did you mean "
							   "'&&'?");
	CHECK_STR(parse_in(DOMAIN_KERNEL, "a by $provider"),
		  "5: events of the kernel have no provider");
	CHECK_STR(parse("a:b by x by y"), "9: no such operator; there are count, sum, min, max, "
					  "avg, hist, lhist and topk");
	CHECK_STR(parse("a:b lhist(x, 5, 1, 1)"),
		  "11: lhist(FIELD, MIN, MAX, STEP): MIN < MAX, 0 < STEP");
	CHECK_STR(parse("a:b by x topk(5000)"), "14: topk(K): K is 1 to 4096");
	CHECK_STR(parse("a:b topk(x, 500)"), "10: topk(FIELD, K): K is 1 to 100");
	CHECK_STR(parse("a:b sum(x) y"), "11: expected a comma, or the end");
	CHECK_STR(parse("pair a:b on x"), "9: pair EVENT EVENT on FIELD: an event is missing");
	CHECK_STR(parse("pair a:b a:c by x"),
		  "13: a pair needs `on FIELD`: what both events have");
	CHECK_STR(parse("pair a:b a: on x"), "11: the name is missing; '*' matches any");
}

static void lists(void)
{
	struct map_rules none = { 0 }, a, b;
	struct md_buf out = MD_BUF_INIT;
	struct tr_err err = TR_ERR_INIT;

	CHECK(!map_rules_apply(&none, DOMAIN_USER, "# no rule\n  a:b by x \na:b by x\na:c\r\n",
			       true, &a, &err));
	CHECK(!map_rules_apply(&a, DOMAIN_USER, "!a:c\na:d", false, &b, &err));
	map_rules_print(&a, &out);
	map_rules_print(&b, &out);
	CHECK_STR(md_buf_str(&out), "a:b by x\na:c\na:b by x\na:d\n");
	map_rules_deinit(&b);
	CHECK(map_rules_apply(&a, DOMAIN_USER, "a:e\n!a:f", false, &b, &err) == -ENOENT &&
	      err.line == 2);
	md_buf_reset(&out);
	for (int i = 0; i <= (int)MAP_RULES_MAX; i++)
		md_buf_printf(&out, "a:n%d\n", i);
	CHECK(map_rules_apply(&none, DOMAIN_USER, md_buf_str(&out), true, &b, &err) == -ENOSPC);
	map_rules_deinit(&a);
	md_buf_deinit(&out);
}

int main(void)
{
	CASE(where_the_event_rule_ends);
	CASE(fields_and_operators);
	CASE(mistakes);
	CASE(lists);
	return test_summary();
}
