/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a wrong filter is answered: the column and a sentence */
#include <errno.h>

#include "tests/lib/test.h"
#include "tests/unit/filter/outcome.h"

static const char *mistake(const char *line, size_t at)
{
	static char said[400];
	struct tr_err err = TR_ERR_INIT;
	struct filter *f = NULL;
	int ret = filter_parse(SCAN(line, at, &err), DOMAIN_USER, &f);

	if (!ret) {
		filter_put(f);
		return "none";
	}
	CHECK(ret == -EINVAL && !f && strlen(err.text) == strcspn(line, "\n"));
	snprintf(said, sizeof(said), "%d: %s", err.column, err.sentence);
	return said;
}

static void mistakes_of_operators(void)
{
	CHECK_STR(mistake("a:* if x = 1", 7), "9: '=' is no operator; did you mean '=='?");
	CHECK_STR(mistake("a:* if \nx == 1", 7),
		  "7: a condition is missing here, such as 'code >= 500'");
	CHECK_STR(mistake("a:* if", 6), "6: a condition is missing here, such as 'code >= 500'");
	CHECK_STR(mistake("a => 1", 0), "2: '=>' is no operator; did you mean '>='?");
	CHECK_STR(mistake("a =< 1", 0), "2: '=<' is no operator; did you mean '<='?");
	CHECK_STR(mistake("a <> 1", 0), "2: '<>' is no operator; did you mean '!='?");
	CHECK_STR(mistake("a === 1", 0), "2: '===' is no operator; did you mean '=='?");
	CHECK_STR(mistake("a !== 1", 0), "2: '!==' is no operator; did you mean '!='?");
	CHECK_STR(mistake("a &&& b", 0), "2: '&&&' is no operator; did you mean '&&'?");
	CHECK_STR(mistake("a and b", 0), "2: 'and' is no operator; did you mean '&&'?");
	CHECK_STR(mistake("a or b", 0), "2: 'or' is no operator; did you mean '||'?");
	CHECK_STR(mistake("a->b == 1", 0), "1: '->' is no operator; did you mean '.'?");
	CHECK_STR(mistake("a + 1 == 2", 0),
		  "2: there is no arithmetic in filters: '+' cannot stand here");
	CHECK_STR(mistake("a -1", 0),
		  "2: there is no arithmetic in filters: '-' cannot stand here");
	CHECK_STR(mistake("a % 2", 0),
		  "2: there is no arithmetic in filters: '%' cannot stand here");
	CHECK_STR(mistake("a ! b", 0), "2: '!' stands before one operand; did you mean '!='?");
	CHECK_STR(mistake("a b", 0), "2: an operator such as '==' or '&&' is missing here");
	CHECK_STR(mistake("a == 1 ? b : c", 0),
		  "7: an operator such as '==' or '&&' is missing here");
	CHECK_STR(mistake("a == 1 loglevel warning", 0), "7: 'loglevel' stands before 'if'");
	CHECK_STR(mistake("a == 1 except b:*", 0), "7: 'except' stands before 'if'");
	CHECK_STR(mistake("a == 1 exception", 0),
		  "7: an operator such as '==' or '&&' is missing here");
	CHECK_STR(mistake("a == ", 0), "5: a value is missing at the end");
	CHECK_STR(mistake("a && && b", 0), "5: a value is missing before '&&'");
	CHECK_STR(mistake("== 1", 0), "0: a value is missing before '=='");
	CHECK_STR(mistake("a == = 1", 0), "5: a value is missing before '='");
	CHECK_STR(mistake("a == @", 0), "5: no value begins with '@'; texts are in double quotes");
	CHECK_STR(mistake("a == \xc3\xa4", 0), "5: a value such as a field's name is missing here");
	CHECK_STR(mistake("(a == 1", 0), "0: this '(' is never closed");
	CHECK_STR(mistake("a == (b || (c", 0), "11: this '(' is never closed");
	CHECK_STR(mistake("a == 1) && b", 0), "6: this ')' has no '('");
	CHECK_STR(mistake("a == ()", 0), "6: a value is missing before ')'");
}

static void mistakes_of_values(void)
{
	CHECK_STR(mistake("a == 'x'", 0), "5: strings are written with double quotes: \"text\"");
	CHECK_STR(mistake("a == \"x", 0), "5: the quote is never closed");
	CHECK_STR(mistake("a == \"x\\", 0),
		  "8: no such escape; a backslash itself is \\\\ in quotes");
	CHECK_STR(mistake("a == \"x\\q\"", 0),
		  "8: no such escape; a backslash itself is \\\\ in quotes");
	CHECK_STR(mistake("a == \"x\\0\"", 0), "9: this escape is not a character");
	CHECK_STR(mistake("a == \"x\xff\"", 0), "7: not UTF-8; write the byte as an escape, \\xff");
	CHECK_STR(mistake("a == \"x\t\"", 0), "7: a control character; write it as an escape");
	CHECK_STR(mistake("a == 018", 0),
		  "7: '8' is not an octal digit; a number that begins with 0 is octal");
	CHECK_STR(mistake("a == 0x", 0), "7: a hexadecimal digit is missing after '0x'");
	CHECK_STR(mistake("a == 0xfg", 0), "8: 'g' cannot follow a number");
	CHECK_STR(mistake("a == 10ms", 0), "7: 'ms' cannot follow a number");
	CHECK_STR(mistake("a == 1uu", 0), "6: 'uu' cannot follow a number");
	CHECK_STR(mistake("a == 1e", 0), "6: 'e' cannot follow a number");
	CHECK_STR(mistake("a == 1.5.2", 0), "8: '.' cannot follow a number");
	CHECK_STR(mistake("a == 1.5x", 0), "8: 'x' cannot follow a number");
	CHECK_STR(mistake("a == 18446744073709551616", 0),
		  "5: the number does not fit into 64 bits");
	CHECK_STR(mistake("a == 1e999", 0), "5: the number is too large for floating point");
	CHECK_STR(mistake("a[-1]", 0), "2: an index is not negative");
	CHECK_STR(mistake("a[b]", 0), "2: an index is a whole number, as in [0]");
	CHECK_STR(mistake("a[1.5]", 0), "2: an index is a whole number, as in [0]");
	CHECK_STR(mistake("a[1", 0), "1: a ']' is missing for this '['");
	CHECK_STR(mistake("a[1 2]", 0), "4: a ']' is missing here");
	CHECK_STR(mistake("a. == 1", 0), "3: a field's name is missing here");
	CHECK_STR(mistake("$ctx.pid == 1", 0), "5: no such context 'pid'; did you mean 'vpid'?");
	CHECK_STR(mistake("$ctx.tid == 1", 0), "5: no such context 'tid'; did you mean 'vtid'?");
	CHECK_STR(mistake("$ctx.procnam == \"a\"", 0),
		  "5: no such context 'procnam'; did you mean 'procname'?");
	CHECK_STR(mistake("$ctx.whatever", 0), "5: no such context 'whatever'");
	CHECK_STR(mistake("$ctx.$app.a:b", 0),
		  "5: an application context has no '$ctx.' before it: $app.PROVIDER:NAME");
	CHECK_STR(mistake("$ctx. == 1", 0),
		  "5: the name of a context, such as vpid, is missing here");
	CHECK_STR(mistake("$ctx == 1", 0), "0: '$' is followed by ctx.NAME or app.PROVIDER:NAME; "
		  "a field has no '$' before it");
	CHECK_STR(mistake("1 < $vpid", 0), "4: '$' is followed by ctx.NAME or app.PROVIDER:NAME; "
		  "a field has no '$' before it");
	CHECK_STR(mistake("$app.a == 1", 0),
		  "6: ':' and a name are missing here: $app.PROVIDER:NAME");
	CHECK_STR(mistake("$app.a: == 1", 0), "7: the name of $app.PROVIDER:NAME is missing here");
	CHECK_STR(mistake("$app.:b == 1", 0),
		  "5: the provider of $app.PROVIDER:NAME is missing here");
	CHECK_STR(mistake("$ctx.perf:cpu:cycles", 0),
		  "9: applications have counters of threads only: perf:thread:NAME");
	CHECK_STR(mistake("$ctx.perf:thread: > 1", 0), "17: the name of a counter is missing here");
}

/* What is wrong whatever the event is, is said at once. */
static void clashes_without_an_event(void)
{
	CHECK_STR(mistake("a < \"x\"", 0),
		  "2: strings are compared with == and != only, not with '<'");
	CHECK_STR(mistake("\"x\" == 1", 0), "4: a string and a number cannot be compared");
	CHECK_STR(mistake("$ctx.procname > 1", 0), "14: a string and a number cannot be compared");
	CHECK_STR(mistake("a && \"x\"", 0),
		  "5: a string is not a truth value; compare it with == or !=");
	CHECK_STR(mistake("\"x\"", 0),
		  "0: a string is not a truth value; compare it with == or !=");
	CHECK_STR(mistake("!$ctx.procname", 0),
		  "1: a string is not a truth value; compare it with == or !=");
	CHECK_STR(mistake("a & 1.5", 0),
		  "2: '&' needs integers, but its right side is a floating point number");
	CHECK_STR(mistake("\"x\" << 1", 0),
		  "4: '<<' needs integers, but its left side is a string");
	CHECK_STR(mistake("a == ~1.5", 0),
		  "5: '~' needs integers, but this is a floating point number");
	CHECK_STR(mistake("a == -\"x\"", 0), "5: '-' needs numbers, but this is a string");
	CHECK_STR(mistake("\"a*\" == \"b*\"", 0),
		  "5: both sides are patterns; a star itself is \\*");
	CHECK_STR(mistake("$ctx.vpid[0] == 1", 0), "9: a context is no array: it has no elements");
	CHECK_STR(mistake("(a == 1) == \"x\"", 0), "9: a string and a number cannot be compared");
	CHECK_STR(mistake("(a & 1) == \"x\"", 0), "8: a string and a number cannot be compared");
	CHECK_STR(mistake("!a == \"x\"", 0), "3: a string and a number cannot be compared");
	CHECK_STR(mistake("\"x\" != (a || b)", 0), "4: a string and a number cannot be compared");
}

static const char *clash(const struct sample *s, const char *line, size_t at)
{
	static char said[400];
	struct tr_err err = TR_ERR_INIT;
	struct filter_event e = sample_event(s);
	struct filter *f = NULL;
	int ret = filter_parse(SCAN(line, at, &err), DOMAIN_USER, &f);

	if (!ret)
		ret = filter_check(f, &e, &err);
	filter_put(f);
	if (!ret)
		return "none";
	CHECK(ret == -EINVAL && !strcmp(err.text, line));
	snprintf(said, sizeof(said), "%d: %s", err.column, err.sentence);
	return said;
}

static void clashes_with_an_event(void)
{
	struct sample s;

	sample_everything(&s);
	CHECK_STR(clash(&s, "a:* if path == 3", 7), "12: a string and a number cannot be compared");
	CHECK_STR(clash(&s, "id && path", 0),
		  "6: a string is not a truth value; compare it with == or !=");
	CHECK_STR(clash(&s, "u8 == 1 || mac == 3", 0),
		  "11: 'mac' is an array; take one of its elements, as in mac[0]");
	CHECK_STR(clash(&s, "vals == 3", 0),
		  "0: 'vals' is an array; take one of its elements, as in vals[0]");
	CHECK_STR(clash(&s, "id[0] == 3", 0), "2: 'id' is no array: it has no elements");
	CHECK_STR(clash(&s, "path[0] == 3", 0), "4: 'path' is no array: it has no elements");
	CHECK_STR(clash(&s, "mac[0][1] == 3", 0),
		  "6: the elements of 'mac' are numbers: they have no elements");
	CHECK_STR(clash(&s, "id & f32", 0),
		  "3: '&' needs integers, but its right side is a floating point number");
	CHECK_STR(clash(&s, "nothing == 1 || other[1].x || id.x == \"a\" || id", 0), "none");
	sample_deinit(&s);
}

static void limits(void)
{
	struct md_buf text = MD_BUF_INIT;
	struct filter *f = NULL;
	struct tr_err err = TR_ERR_INIT;
	struct sample s;
	int i;

	sample_everything(&s);
	for (i = 0; i < 63; i++)
		md_buf_putc(&text, '(');
	md_buf_puts(&text, "id");
	for (i = 0; i < 63; i++)
		md_buf_putc(&text, ')');
	CHECK_STR(mistake(md_buf_str(&text), 0), "none");
	md_buf_reset(&text);
	md_buf_puts(&text, "id == 1 && ");
	for (i = 0; i < 64; i++)
		md_buf_puts(&text, i % 2 ? "(" : "!");
	md_buf_puts(&text, "id");
	CHECK_STR(mistake(md_buf_str(&text), 0),
		  "75: more than 64 levels of parentheses and operators");
	md_buf_reset(&text);
	for (i = 0; i < 64; i++)
		md_buf_puts(&text, "a | ");
	md_buf_puts(&text, "a");
	CHECK_STR(mistake(md_buf_str(&text), 0), "254: more than 64 levels of operators");
	md_buf_reset(&text);
	for (i = 0; i < 300; i++)
		md_buf_printf(&text, "%sid == %d", i ? " || " : "", i);
	f = sample_parse(md_buf_str(&text));
	CHECK(f && outcome(f, &s) == 'F');
	filter_put(f);
	f = NULL;
	md_buf_reset(&text);
	for (i = 0; i < 1366; i++)
		md_buf_puts(&text, "a||");
	CHECK(filter_parse(SCAN(md_buf_str(&text), 0, &err), DOMAIN_USER, &f) == -E2BIG && !f &&
	      err.sentence[0]);
	/* Short enough, but not with the blanks that it is printed with. */
	text.len = 3 * 900 + 1;
	CHECK(filter_parse(SCAN(md_buf_str(&text), 0, &err), DOMAIN_USER, &f) == -E2BIG && !f &&
	      err.sentence[0]);
	text.len = 3 * 700 + 1;
	CHECK(!filter_parse(SCAN(md_buf_str(&text), 0, &err), DOMAIN_USER, &f));
	filter_put(f);
	md_buf_deinit(&text);
	sample_deinit(&s);
}

int main(void)
{
	CASE(mistakes_of_operators);
	CASE(mistakes_of_values);
	CASE(clashes_without_an_event);
	CASE(clashes_with_an_event);
	CASE(limits);
	return test_summary();
}
