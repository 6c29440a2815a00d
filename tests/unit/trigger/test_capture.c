/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Captured values: of each type, as text and as JSON; from lines that are cut or changed anywhere,
 * as a hostile application can make them: the JSON is valid nevertheless, and nothing outside the
 * line is read (SAN=1 sees that).
 */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/lib/test.h"
#include "tracer/trigger/event.h"

#define CAPTURES 16

static const char plain[] =
	"[12:00:00.000000001] (+0.000000001) p:e: { cpu_id = 1 }, "
	"{ i8 = -128, u8 = 255, i64 = -9223372036854775808, u64 = 18446744073709551615, "
	"hex = 0x1F, octal = 017, real = 1.5, big = 1e+300, odd = nan, "
	"s = \"a, b = { 1 } \\\"q\\\" \\x01\\n\\\\\", empty = \"\", "
	"_list_length = 2, list = [ [0] = 7, [1] = -8 ], "
	"_none_length = 0, none = [ ], "
	"points = [ [0] = { x = 1, y = \"]\" }, [1] = { x = 2, y = \"}\" } ], "
	"state = ( \"on\" : container = 1 ), nothing = { }, odd_name = 5, utf = \"\xc3\xa4\xff\" }";

static const char contexts[] =
	"[12:00:00.000000001] p:e: { cpu_id = 1 }, "
	"{ procname = \"x\", vpid = 3, _stack_length = 1, stack = [ [0] = 0xFF ], "
	"_app_a_i_tag = ( \"_int64\" : container = 4 ), _app_a_i = { 9 }, "
	"_app_a_s_tag = ( \"_string\" : container = 11 ), _app_a_s = { \"t }\" }, "
	"_app_a_n_tag = ( \"_none\" : container = 0 ), _app_a_n = { { } } }, { vpid = 4 }";

/* Prints the captures, which are separated by blanks. */
static char *capture(const char *line, const char *list, bool json)
{
	char names[CAPTURES][32], *captures[CAPTURES];
	struct condition c = { .captures = captures };
	struct md_buf out = MD_BUF_INIT;
	int used = 0;

	while (c.capture_count < CAPTURES &&
	       sscanf(list, " %31s%n", names[c.capture_count], &used) == 1) {
		captures[c.capture_count] = names[c.capture_count];
		c.has_contexts = c.has_contexts || names[c.capture_count][0] == '$';
		c.capture_count++;
		list += used;
	}
	captures_print(&c, line, json, &out);
	md_buf_str(&out);
	return out.data;
}

static void check(const char *line, const char *list, const char *text, const char *json)
{
	char *got = capture(line, list, false);

	CHECK_STR(got, text);
	free(got);
	got = capture(line, list, true);
	CHECK_STR(got, json);
	free(got);
}

static void numbers(void)
{
	check(plain, "i8 u8 i64 u64",
	      "i8 = -128, u8 = 255, i64 = -9223372036854775808, u64 = 18446744073709551615",
	      "\"i8\":-128,\"u8\":255,\"i64\":-9223372036854775808,\"u64\":18446744073709551615");
	check(plain, "hex octal real big odd",
	      "hex = 0x1F, octal = 017, real = 1.5, big = 1e+300, odd = nan",
	      "\"hex\":\"0x1F\",\"octal\":\"017\",\"real\":1.5,\"big\":1e+300,\"odd\":\"nan\"");
}

static void strings(void)
{
	check(plain, "s empty", "s = \"a, b = { 1 } \\\"q\\\" \\x01\\n\\\\\", empty = \"\"",
	      "\"s\":\"a, b = { 1 } \\\"q\\\" \\u0001\\u000a\\\\\",\"empty\":\"\"");
	check(plain, "utf", "utf = \"\xc3\xa4\xff\"", "\"utf\":\"\xc3\xa4\\ufffd\"");
}

static void compounds(void)
{
	check(plain, "list list[1] list[2] none",
	      "list = [ [0] = 7, [1] = -8 ], list[1] = -8, "
	      "list[2] = unavailable, none = [ ]",
	      "\"list\":[7,-8],\"list[1]\":-8,\"list[2]\":null,\"none\":[]");
	check(plain, "points[1].y points[0]",
	      "points[1].y = \"}\", points[0] = { x = 1, y = \"]\" }",
	      "\"points[1].y\":\"}\",\"points[0]\":{\"x\":1,\"y\":\"]\"}");
	check(plain, "state nothing", "state = ( \"on\" : container = 1 ), nothing = { }",
	      "\"state\":\"( \\\"on\\\" : container = 1 )\",\"nothing\":{}");
}

static void unavailable(void)
{
	check(plain, "b x i8.x s[0] list.x points[0].z cpu_id",
	      "b = unavailable, x = unavailable, i8.x = unavailable, s[0] = unavailable, "
	      "list.x = unavailable, points[0].z = unavailable, cpu_id = unavailable",
	      "\"b\":null,\"x\":null,\"i8.x\":null,\"s[0]\":null,\"list.x\":null,"
	      "\"points[0].z\":null,\"cpu_id\":null");
	check("", "a", "a = unavailable", "\"a\":null");
	check(contexts, "$ctx.pid $app.a:x", "$ctx.pid = unavailable, $app.a:x = unavailable",
	      "\"$ctx.pid\":null,\"$app.a:x\":null");
	/* The trace has `_` for the other characters of a name. */
	check(plain, "odd-name odd:name", "odd-name = 5, odd:name = 5",
	      "\"odd-name\":5,\"odd:name\":5");
}

static void context_values(void)
{
	check(contexts, "$ctx.vpid vpid $ctx.procname $ctx.vpid",
	      "$ctx.vpid = 3, vpid = 4, $ctx.procname = \"x\", $ctx.vpid = 3",
	      "\"$ctx.vpid\":3,\"vpid\":4,\"$ctx.procname\":\"x\",\"$ctx.vpid\":3");
	check(contexts, "$app.a:i $app.a:s $app.a:n $ctx.stack",
	      "$app.a:i = 9, $app.a:s = \"t }\", $app.a:n = unavailable, "
	      "$ctx.stack = [ [0] = 0xFF ]",
	      "\"$app.a:i\":9,\"$app.a:s\":\"t }\",\"$app.a:n\":null,\"$ctx.stack\":[\"0xFF\"]");
}

/* ---- hostile lines ---- */

static const char *skip_value(const char *p, int depth);

static const char *skip_json_string(const char *p)
{
	for (p++; *p && *p != '"'; p++) {
		if ((unsigned char)*p < 0x20)
			return NULL;
		if (*p != '\\')
			continue;
		p++;
		if (*p != '"' && *p != '\\' && *p != 'u')
			return NULL;
		for (int i = 0; *p == 'u' && i < 4; i++)
			if (!isxdigit((unsigned char)p[i + 1]))
				return NULL;
	}
	return *p ? p + 1 : NULL;
}

/* Members up to the closing bracket; close 0: up to the end. */
static const char *skip_members(const char *p, bool named, char close, int depth)
{
	bool first = true;

	for (; p && *p != close; first = false) {
		if (!first && *p++ != ',')
			return NULL;
		if (named) {
			p = *p == '"' ? skip_json_string(p) : NULL;
			if (!p || *p++ != ':')
				return NULL;
		}
		p = skip_value(p, depth);
	}
	return p && close ? p + 1 : p;
}

static const char *skip_value(const char *p, int depth)
{
	char *end;

	if (depth > 100)
		return NULL;
	if (*p == '"')
		return skip_json_string(p);
	if (*p == '{' || *p == '[')
		return skip_members(p + 1, *p == '{', *p == '{' ? '}' : ']', depth + 1);
	if (!strncmp(p, "null", 4))
		return p + 4;
	if (!(isdigit((unsigned char)*p) || *p == '-'))
		return NULL;
	strtod(p, &end);
	return end > p ? end : NULL;
}

/* The line in memory of its exact size */
static bool survives(const char *line, size_t len)
{
	static const char names[] = "i8 s list points[1].y points state utf $ctx.vpid $app.a:s";
	char *copy = malloc(len + 1), *json;
	bool valid;

	if (!copy)
		return false;
	memcpy(copy, line, len);
	copy[len] = '\0';
	free(capture(copy, names, false));
	json = capture(copy, names, true);
	valid = skip_members(json, true, '\0', 0);
	free(json);
	/* The same fields as those of an event without contexts */
	json = capture(copy, "i8 s list points[1].y points state utf", true);
	valid = valid && skip_members(json, true, '\0', 0);
	free(json);
	free(copy);
	return valid;
}

static void cut_lines(void)
{
	for (size_t n = 0; n <= strlen(plain); n++)
		CHECK(survives(plain, n));
	for (size_t n = 0; n <= strlen(contexts); n++)
		CHECK(survives(contexts, n));
}

static void changed_lines(void)
{
	static const char bytes[] = "{}[]()\"\\, =:x0-\xff";
	char line[sizeof(plain)];

	for (size_t i = 0; i < sizeof(plain) - 1; i++)
		for (size_t k = 0; k < sizeof(bytes) - 1; k++) {
			memcpy(line, plain, sizeof(line));
			line[i] = bytes[k];
			CHECK(survives(line, sizeof(line) - 1));
		}
}

static void random_lines(void)
{
	static const char *const words[] = {
		": { cpu_id = 0 }, { ", "i8 = ", "s = \"", "points = [ ", "[1] = { y = ", "list = ",
		" }", " ]", ", ", "\"", "\\", "\\x4", "\\\"", "(", "{", "[", "1", "-", "e+", "\xf0",
		"\x01", " = ", "_app_a_s = { ", "vpid = ",
	};
	uint64_t seed = 1;

	for (int i = 0; i < 20000; i++) {
		char line[400] = ": { cpu_id = 0 }, { ";

		for (int k = 0; k < 24; k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			strcat(line, words[(seed >> 33) % (sizeof(words) / sizeof(*words))]);
		}
		CHECK(survives(line, strlen(line)));
	}
}

static void deep_lines(void)
{
	size_t depth = 5000;
	char *line = malloc(100 + 16 * depth), *end = line;

	if (!line)
		return;
	end += sprintf(end, ": { cpu_id = 0 }, { i8 = ");
	for (size_t i = 0; i < depth; i++)
		end += sprintf(end, "[ [0] = { a = ");
	CHECK(survives(line, (size_t)(end - line)));
	free(line);
}

int main(void)
{
	CASE(numbers);
	CASE(strings);
	CASE(compounds);
	CASE(unavailable);
	CASE(context_values);
	CASE(cut_lines);
	CASE(changed_lines);
	CASE(random_lines);
	CASE(deep_lines);
	return test_summary();
}
