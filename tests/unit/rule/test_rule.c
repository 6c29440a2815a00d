/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/lib/test.h"
#include "tracer/base/rule/rule.h"

/* ---- globs ---- */

/* The plain definition; exponential, so for short strings only. */
static bool naive(const char *p, const char *s)
{
	if (!*p)
		return !*s;
	if (*p == '*')
		return naive(p + 1, s) || (*s && naive(p, s + 1));
	if (*p == '\\' && p[1])
		p++;
	return *s && *p == *s && naive(p + 1, s + 1);
}

static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33);
}

static void random_text(uint64_t *seed, const char *letters, char *to, size_t max)
{
	size_t n = next_random(seed) % (max + 1), i;

	for (i = 0; i < n; i++)
		to[i] = letters[next_random(seed) % strlen(letters)];
	to[n] = '\0';
}

static void globs_like_the_definition(void)
{
	uint64_t seed = 1;
	int i, matched = 0;

	for (i = 0; i < 1000000; i++) {
		char p[12], s[14];

		random_text(&seed, "ab**\\:", p, sizeof(p) - 1);
		random_text(&seed, "aab*:\\", s, sizeof(s) - 1);
		if (glob_match(p, s) != naive(p, s)) {
			printf("# pattern %s name %s\n", p, s);
			CHECK(false);
			return;
		}
		matched += naive(p, s);
	}
	CHECK(matched > 10000);
}

static void globs_are_fast(void)
{
	static char p[20001], s[100001];
	int i;

	for (i = 0; i < 10000; i++)
		memcpy(p + 2 * i, "*a", 2);
	strcpy(p + 19999, "b");
	memset(s, 'a', sizeof(s) - 1);
	CHECK(!glob_match(p, s));
	CHECK(glob_match("my_app:*", "my_app:request"));
	CHECK(glob_match("*", "x:y"));
	CHECK(!glob_match("my_app:*", "my_apple:request"));
	CHECK(glob_match("p:a\\*b", "p:a*b"));
	CHECK(!glob_match("p:a\\*b", "p:axb"));
}

/* ---- rules ---- */

/* Applies lines to nothing; prints what came of it, or the error. */
static const char *apply(const char *lines)
{
	static struct md_buf out;
	struct rule_list l = { 0 };
	struct tr_err err = TR_ERR_INIT;
	int ret = rule_list_apply(NULL, DOMAIN_USER, lines, false, &l, &err);

	md_buf_reset(&out);
	if (ret)
		md_buf_printf(&out, "%d line %d column %d: %s", ret, err.line, err.column,
			      err.sentence);
	else
		rule_list_print(&l, &out);
	rule_list_deinit(&l);
	return md_buf_str(&out);
}

static void rules_are_printed_in_one_way(void)
{
	CHECK_STR(apply(""), "");
	CHECK_STR(apply("*"), "*\n");
	CHECK_STR(apply("my_app*\n*request except a*b"), "my_app*\n*request except a*b\n");
	CHECK_STR(apply("\n  \n# comment\nmy_app:*\n"), "my_app:*\n");
	CHECK_STR(apply("  my_app:*\t except   a:b ,\tc:*  loglevel  <=warning  "),
		  "my_app:* except a:b,c:* loglevel <= warning\n");
	CHECK_STR(apply("a:b loglevel WARNING"), "a:b loglevel warning\n");
	CHECK_STR(apply("a:b loglevel TRACE_Err.."), "a:b loglevel err..\n");
	CHECK_STR(apply("a:b loglevel info .. 3"), "a:b loglevel info..err\n");
	CHECK_STR(apply("a:b loglevel .."), "a:b loglevel ..\n");
	CHECK_STR(apply("a:b loglevel = \"debug\""), "a:b loglevel == debug\n");
	CHECK_STR(apply("~a:b\n~ c:d"), "~a:b\n~c:d\n");
	CHECK_STR(apply("\"a:b\" except \"c:d,e\""), "a:b except \"c:d,e\"\n");
	CHECK_STR(apply("\"~a:b\\x41\\102\""), "\"~a:bAB\"\n");
	CHECK_STR(apply("\"#a:b\\\\*\""), "\"#a:b\\\\*\"\n");
	CHECK_STR(apply("a:b\\*c"), "a:b\\*c\n");
	CHECK_STR(apply("f\xc3\xbcr:*"), "f\xc3\xbcr:*\n");
	CHECK_STR(apply("a:b::c"), "a:b::c\n");
}

static void lists_change(void)
{
	CHECK_STR(apply("a:b\na:b\n a:b "), "a:b\n");
	CHECK_STR(apply("a:b\n~a:b"), "~a:b\n");
	CHECK_STR(apply("~a:b\na:b"), "a:b\n");
	CHECK_STR(apply("a:b\nc:d\n!a:b"), "c:d\n");
	CHECK_STR(apply("a:b\na:b loglevel err\nc:d\n!a:b"), "c:d\n");
	CHECK_STR(apply("a:b\na:b loglevel err\nc:d\n!a:b loglevel err"), "a:b\nc:d\n");
	CHECK_STR(apply("~a:b\n!~a:b"), "");
	CHECK_STR(apply("~a:b\n! \"a:b\""), "");
	CHECK_STR(apply("a:b\n!a:*"), "-2 line 2 column 1: no rule has this pattern");
	CHECK_STR(apply("a:b\n!a:b loglevel err"), "-2 line 2 column 1: no such rule");
}

static void replacing_and_adding(void)
{
	struct rule_list a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };
	struct md_buf out = MD_BUF_INIT;
	struct tr_err err = TR_ERR_INIT;

	CHECK(!rule_list_apply(NULL, DOMAIN_USER, "a:b except a:c\n~c:d", false, &a, &err));
	CHECK(!rule_list_apply(&a, DOMAIN_USER, "e:f", false, &b, &err));
	CHECK(!rule_list_apply(&a, DOMAIN_USER, "e:f", true, &c, &err));
	CHECK(rule_list_apply(&a, DOMAIN_USER, "e:f\nbad", true, &d, &err) == -EINVAL);
	CHECK(err.line == 2 && !d.count && !d.rules);
	CHECK(!rule_list_apply(&a, DOMAIN_USER, "", true, &d, &err));
	rule_list_print(&a, &out);
	md_buf_puts(&out, "-\n");
	rule_list_print(&b, &out);
	md_buf_puts(&out, "-\n");
	rule_list_print(&c, &out);
	md_buf_puts(&out, "-\n");
	rule_list_print(&d, &out);
	CHECK_STR(md_buf_str(&out),
		  "a:b except a:c\n~c:d\n-\na:b except a:c\n~c:d\ne:f\n-\ne:f\n-\n");
	md_buf_deinit(&out);
	rule_list_deinit(&a);
	rule_list_deinit(&b);
	rule_list_deinit(&c);
	rule_list_deinit(&d);
}

static bool takes(const char *rules, const char *event, int level)
{
	struct rule_list l = { 0 };
	bool r = !rule_list_apply(NULL, DOMAIN_USER, rules, false, &l, NULL) &&
		 rule_list_match(&l, EVENT_KEY(event), level);

	rule_list_deinit(&l);
	return r;
}

/* As letters: level 0 is the first; x = taken. */
static const char *levels(const char *spec)
{
	static char map[16];
	char rule[100];
	int i;

	snprintf(rule, sizeof(rule), "a:b loglevel %s", spec);
	for (i = 0; i < 15; i++)
		map[i] = takes(rule, "a:b", i) ? 'x' : '-';
	return map;
}

static uint64_t decide(const char *rules)
{
	struct rule_list l = { 0 };
	uint64_t r = rule_list_apply(NULL, DOMAIN_USER, rules, false, &l, NULL)
			     ? 99
			     : rule_list_decide(&l, EVENT_KEY("a:b"), 6);

	rule_list_deinit(&l);
	return r;
}

static void filters_decide(void)
{
	struct rule_list a = { 0 }, b = { 0 };
	const struct filter *filters[4];

	CHECK(decide("b:*") == 0 && decide("~a:*") == 0 && decide("~a:* if x > 1") == 0);
	CHECK(decide("a:*") == RULE_ALL && decide("a:* if x > 1\na:b") == RULE_ALL);
	CHECK(decide("a:* if x > 1") > RULE_ALL &&
	      decide("a:* if x > 1") == decide("*   if  x   >  1"));
	CHECK(decide("a:* if x > 1") != decide("a:* if x > 2"));
	CHECK(decide("a:* if x > 1\na:b if y == 2") == decide("a:b if y == 2\na:* if x > 1"));
	CHECK(decide("a:* if x > 1\na:b if y == 2") != decide("a:b if y == 2"));
	CHECK(decide("a:* if x > 1\n~a:b if y == 2\nc:d if z") == decide("a:* if x > 1"));
	CHECK_STR(apply("a:*   loglevel err if  x>1 # no comment"),
		  "-22 line 1 column 27: an operator such as '==' or '&&' is missing here");
	CHECK_STR(apply("a:* if x>1\na:*  if x > 1\n~a:b if s==\"*a\""),
		  "a:* if x > 1\n~a:b if s == \"*a\"\n");
	CHECK_STR(apply("a:* if x>1\na:*\n!a:* if x > 1"), "a:*\n");
	CHECK_STR(apply("a:* if x>1\na:b if x\n!a:*"), "a:b if x\n");
	CHECK(rule_list_apply(NULL, DOMAIN_USER, "a:* if x > 1\nb:* if y", false, &a, NULL) == 0);
	CHECK(a.rules[0].line == 1 && a.rules[1].line == 2);
	CHECK(rule_list_apply(&a, DOMAIN_USER, "\na:b if z", false, &b, NULL) == 0);
	CHECK(b.rules[0].line == 0 && b.rules[1].line == 0 && b.rules[2].line == 2);
	CHECK(rule_list_filters(&b, EVENT_KEY("a:b"), 0, filters, 4) == 2 &&
	      filters[0] == a.rules[0].filter);
	rule_list_deinit(&a);
	rule_list_deinit(&b);
}

static void rules_match(void)
{
	CHECK(takes("*", "a:b", 14));
	CHECK(!takes("", "a:b", 0));
	CHECK(!takes("~*", "a:b", 0));
	CHECK(takes("~*\na:*", "a:b", 0));
	CHECK(takes("a:* except a:debug*", "a:request", 6));
	CHECK(!takes("a:* except b:*,a:debug*", "a:debug_x", 6));
	CHECK(takes("a:* except a:b\na:b", "a:b", 6));
	CHECK_STR(levels("warning"), "----x----------");
	CHECK_STR(levels("warning.."), "xxxxx----------");
	CHECK_STR(levels("<= warning"), "xxxxx----------");
	CHECK_STR(levels("< warning"), "xxxx-----------");
	CHECK_STR(levels("> warning"), "-----xxxxxxxxxx");
	CHECK_STR(levels(">=4"), "----xxxxxxxxxxx");
	CHECK_STR(levels("== debug"), "--------------x");
	CHECK_STR(levels("err..info"), "---xxxx--------");
	CHECK_STR(levels("info..err"), "---xxxx--------");
	CHECK_STR(levels(".."), "xxxxxxxxxxxxxxx");
}

static void mistakes_are_explained(void)
{
	CHECK_STR(apply("my_app:* loglevel warnin"),
		  "-22 line 1 column 18: no such level 'warnin'; did you mean 'warning'?");
	CHECK_STR(apply("a:* loglevel critical"),
		  "-22 line 1 column 13: no such level 'critical'; did you mean 'crit'?");
	CHECK_STR(apply("a:* loglevel 15"),
		  "-22 line 1 column 13: no such level '15'; levels are emerg (0) to debug (14)");
	CHECK_STR(apply("a:* loglevel"),
		  "-22 line 1 column 12: a log level is missing here: emerg (0) to debug (14)");
	CHECK_STR(apply("a:* logevel err"),
		  "-22 line 1 column 4: no such keyword 'logevel'; did you mean 'loglevel'?");
	CHECK_STR(apply("a:* exept b:c"),
		  "-22 line 1 column 4: no such keyword 'exept'; did you mean 'except'?");
	CHECK_STR(apply("a:* loglevel != err"), "-22 line 1 column 13: '!=' is not a range of "
						"levels; write two rules, with '<' and '>'");
	CHECK_STR(apply("a:* loglevel < emerg"), "-22 line 1 column 13: no level matches");
	CHECK_STR(apply("a:* loglevel ..err"),
		  "-22 line 1 column 15: '..LEVEL' is ambiguous; write '<= LEVEL' or '>= LEVEL'");
	CHECK_STR(apply("a:* loglevel err except b:c"),
		  "-22 line 1 column 17: 'except' comes once, right after the "
		  "pattern; separate its patterns with commas");
	CHECK_STR(apply("a:b\na:* if x > \"a\" + 1"),
		  "-22 line 2 column 15: there is no arithmetic in filters: '+' cannot stand here");
	CHECK_STR(apply("a:* loglevel err.. if x ="),
		  "-22 line 1 column 24: '=' is no operator; did you mean '=='?");
	CHECK_STR(apply("a:b c:d"), "-22 line 1 column 4: a rule has one pattern");
	CHECK_STR(apply("a:b,c:d"),
		  "-22 line 1 column 3: a rule has one pattern; lists with commas follow 'except'");
	CHECK_STR(apply("sched_switch"),
		  "-22 line 1 column 0: no provider in 'sched_switch': events of applications are "
		  "provider:name, so a pattern is for instance 'sched_switch:*'; tracepoints "
		  "of the kernel belong in kernel/events");
	CHECK_STR(apply("@process.execve"),
		  "-22 line 1 column 0: hooks belong in rules of kernel/events");
	CHECK_STR(apply("a\\*"),
		  "-22 line 1 column 0: no provider in 'a\\*': events of applications are "
		  "provider:name, so a pattern is for instance 'a\\*:*'; tracepoints of the "
		  "kernel belong in kernel/events");
	CHECK_STR(apply("a:"), "-22 line 1 column 2: the name is missing; '*' matches any");
	CHECK_STR(apply(":b"), "-22 line 1 column 0: the provider is missing; '*' matches any");
	CHECK_STR(apply("\n\n!"), "-22 line 3 column 1: a rule is missing after '!'");
	CHECK_STR(apply("~!a:b"), "-22 line 1 column 1: a line has one '!' or '~' only");
	CHECK_STR(apply("except a:b"), "-22 line 1 column 0: a pattern is missing before 'except'");
	CHECK_STR(apply("a:b except"), "-22 line 1 column 10: a pattern is missing here");
	CHECK_STR(apply("a:b except c:d,,e:f"), "-22 line 1 column 15: a pattern is missing here");
	CHECK_STR(apply("\"a:b"), "-22 line 1 column 0: the quote is never closed");
	CHECK_STR(apply("\"a:b\"c"), "-22 line 1 column 5: a blank is missing after the quote");
	CHECK_STR(apply("a:b\"c\""),
		  "-22 line 1 column 3: a quote inside a word; put the whole word in quotes");
	CHECK_STR(apply("\"\""),
		  "-22 line 1 column 0: the pattern is empty; '*' matches any event");
	CHECK_STR(apply("a:\xff"), "-22 line 1 column 2: not UTF-8");
	CHECK_STR(apply("a:b\x01"), "-22 line 1 column 3: a control character in a pattern");
	CHECK_STR(apply("a:b\r\n"), "-22 line 1 column 3: a control character in a pattern");
	CHECK_STR(apply("a:b\\c"), "-22 line 1 column 3: a backslash is allowed only before '*'");
	CHECK_STR(apply("\"a:b\\q\""),
		  "-22 line 1 column 5: no such escape; a backslash itself is \\\\ in quotes");
	CHECK_STR(apply("\"a:b\\0\""), "-22 line 1 column 6: this escape is not a character");
}

static void names_belong_to_probes(void)
{
	CHECK_STR(apply("a:b as c"), "-22 line 1 column 4: only probes of the kernel get a name "
				     "by 'as', right after the pattern");
}

static void long_lines(void)
{
	static char line[10000];
	struct rule_list l = { 0 };
	struct tr_err err = TR_ERR_INIT;

	memset(line, 'a', sizeof(line) - 1);
	line[1] = ':';
	CHECK(rule_list_apply(NULL, DOMAIN_USER, line, false, &l, &err) == -EINVAL);
	CHECK(err.column >= 0 && err.column < (int)sizeof(err.text) &&
	      strlen(err.text) < sizeof(err.text));
	line[4000] = '\0';
	CHECK(rule_list_apply(NULL, DOMAIN_USER, line, false, &l, &err) == -EINVAL);
	CHECK_STR(err.sentence, "the name is too long");
	strcpy(line, "a:b");
	memset(line + 3, ' ', 3000);
	strcpy(line + 3003, "excep x");
	CHECK(rule_list_apply(NULL, DOMAIN_USER, line, false, &l, &err) == -EINVAL);
	CHECK(!strncmp(err.text + err.column, "excep x", 8));
	CHECK(!l.count);
}

static void too_many_rules(void)
{
	struct md_buf lines = MD_BUF_INIT;
	struct rule_list l = { 0 };
	struct tr_err err = TR_ERR_INIT;
	int i;

	for (i = 0; i < 4096; i++)
		md_buf_printf(&lines, "p%d:*\n", i);
	CHECK(!rule_list_apply(NULL, DOMAIN_USER, md_buf_str(&lines), false, &l, &err));
	CHECK(l.count == 4096);
	rule_list_deinit(&l);
	md_buf_puts(&lines, "one:more\n");
	CHECK(rule_list_apply(NULL, DOMAIN_USER, md_buf_str(&lines), false, &l, &err) == -ENOSPC);
	CHECK(err.line == 4097);
	md_buf_deinit(&lines);
}

static void level_names(void)
{
	int i;

	for (i = 0; i < 15; i++)
		CHECK(level_parse(level_name(i), strlen(level_name(i))) == i);
	CHECK(!level_name(15) && !level_name(-1));
	CHECK(level_parse("TRACE_DEBUG_LINE", 16) == 13);
	CHECK(level_parse("Warning", 7) == 4);
	CHECK(level_parse("14", 2) == 14 && level_parse("0", 1) == 0);
	CHECK(level_parse("15", 2) == -1 && level_parse("", 0) == -1 &&
	      level_parse("TRACE_", 6) == -1);
	CHECK(level_parse("warnings", 7) == 4);
}

int main(void)
{
	CASE(globs_like_the_definition);
	CASE(globs_are_fast);
	CASE(rules_are_printed_in_one_way);
	CASE(lists_change);
	CASE(replacing_and_adding);
	CASE(rules_match);
	CASE(filters_decide);
	CASE(mistakes_are_explained);
	CASE(names_belong_to_probes);
	CASE(long_lines);
	CASE(too_many_rules);
	CASE(level_names);
	return test_summary();
}
