/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Captured values of each type: as text in the form of babeltrace2, as JSON in that of export/json.
 * Hostile bytes: tests/unit/metadata/test_access.c.
 */
#include "tests/lib/classes.h"
#include "tests/lib/test.h"
#include "tracer/trigger/event.h"

#define CAPTURES 16

static struct md_stream *class;
static struct md_occurrence o;
static struct md_buf bytes = MD_BUF_INIT;

/* Prints the captures, which are separated by blanks. */
static char *capture(const char *list, bool json)
{
	char names[CAPTURES][32];
	struct condition_capture captures[CAPTURES];
	struct condition c = { .captures = captures };
	struct md_buf out = MD_BUF_INIT;
	int used = 0;

	while (c.capture_count < CAPTURES &&
	       sscanf(list, " %31s%n", names[c.capture_count], &used) == 1) {
		captures[c.capture_count].text = names[c.capture_count];
		c.capture_count++;
		list += used;
	}
	captures_print(&c, class, &o, json, &out);
	md_buf_str(&out);
	return out.data;
}

static void check(const char *list, const char *text, const char *json)
{
	char *got = capture(list, false);

	CHECK_STR(got, text);
	free(got);
	got = capture(list, true);
	CHECK_STR(got, json);
	free(got);
}

static void put_double(double d)
{
	uint64_t bits;

	memcpy(&bits, &d, 8);
	put_int(bits, 8, false, &bytes);
}

static void put_text(const char *s)
{
	md_buf_put(&bytes, s, strlen(s) + 1);
}

/* ---- the event ---- */

static struct md_type point(void)
{
	struct md_type t = t_struct(2);

	set_field(&t.members[0], "x", t_int(1, false, 10, false));
	set_field(&t.members[1], "y", t_string());
	return t;
}

static struct md_type state(void)
{
	struct md_type t = t_enum(t_int(1, false, 10, false), 1);

	set_mapping(&t, 0, "on", 1, 1);
	return t;
}

static struct md_event *make_event(void)
{
	struct md_event *e = md_event_create("p:e", -1, 22);
	struct md_field *f = e->fields;

	set_field(f++, "i8", t_int(1, true, 10, false));
	set_field(f++, "u8", t_int(1, false, 10, false));
	set_field(f++, "i64", t_int(8, true, 10, false));
	set_field(f++, "u64", t_int(8, false, 10, true));
	set_field(f++, "hex", t_int(2, false, 16, false));
	set_field(f++, "octal", t_int(2, false, 8, false));
	set_field(f++, "real", t_float(8, false));
	set_field(f++, "big", t_float(8, false));
	set_field(f++, "odd", t_float(8, false));
	set_field(f++, "s", t_string());
	set_field(f++, "empty", t_string());
	set_field(f++, "list", t_sequence(t_int(1, true, 10, false), 4));
	set_field(f++, "none", t_sequence(t_int(1, true, 10, false), 4));
	set_field(f++, "points", t_array(point(), 2));
	set_field(f++, "state", state());
	set_field(f++, "other", state());
	set_field(f++, "nothing", t_struct(0));
	set_field(f++, "odd-name", t_int(1, false, 10, false));
	set_field(f++, "utf", t_string());
	set_field(f++, "gone", t_optional(t_s32()));
	set_field(f++, "kept", t_optional(t_s32()));
	set_field(f++, "last", t_optional(point()));
	return e;
}

static void put_values(void)
{
	put_int((uint64_t)-128, 1, false, &bytes);
	put_int(255, 1, false, &bytes);
	put_int(UINT64_C(1) << 63, 8, false, &bytes);
	put_int(UINT64_MAX, 8, true, &bytes);
	put_int(0x1f, 2, false, &bytes);
	put_int(15, 2, false, &bytes);
	put_double(1.5);
	put_double(1e300);
	put_double(1.0 / 0.0);
	put_text("a, b = { 1 } \"q\" \x01\n\\");
	put_text("");
	put_int(2, 4, false, &bytes);
	put_int(7, 1, false, &bytes);
	put_int(0xf8, 1, false, &bytes);
	put_int(0, 4, false, &bytes);
	put_int(1, 1, false, &bytes);
	put_text("]");
	put_int(2, 1, false, &bytes);
	put_text("}");
	put_int(1, 1, false, &bytes);
	put_int(7, 1, false, &bytes);
	put_int(5, 1, false, &bytes);
	put_text("\xc3\xa4\xff");
	put_int(0, 1, false, &bytes);           /* missing */
	put_int(1, 1, false, &bytes);
	put_int(6, 4, false, &bytes);
	put_int(0, 1, false, &bytes);
}

static void make_contexts(void)
{
	static const char *const names[] = { "procname", "vpid",    "stack",   "$app.a:i",
					     "$app.a:s", "$app.a:n" };
	struct md_field *context = calloc(6, sizeof(*context));

	set_field(&context[0], names[0], t_array(t_char(), 17));
	set_field(&context[1], names[1], t_s32());
	set_field(&context[2], names[2], t_sequence(t_int(8, false, 16, false), 4));
	for (int i = 3; i < 6; i++) {
		set_field(&context[i], names[i], t_s32());
		CHECK(!md_type_dynamic(&context[i].type));
	}
	CHECK(!md_stream_set_context(class, context, 6));
	md_buf_put(&bytes, "x\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 17);
	put_int(3, 4, false, &bytes);
	put_int(1, 4, false, &bytes);
	put_int(255, 8, false, &bytes);
	put_int(4, 1, false, &bytes);           /* int64 */
	put_int(9, 8, false, &bytes);
	put_int(11, 1, false, &bytes);          /* string */
	put_text("t }");
	put_int(0, 1, false, &bytes);           /* none */
}

static void make(void)
{
	struct md_event *e = make_event();
	struct md_decoder d;

	class = md_stream_create(0, MD_HEADER_COMPACT);
	put_header(class, 0, 0, 1, false, &bytes);
	make_contexts();
	put_values();
	CHECK(!md_stream_add(class, e));
	d = (struct md_decoder){ .stream = class, .p = (const uint8_t *)bytes.data,
				 .end = (const uint8_t *)bytes.data + bytes.len };
	CHECK(md_decoder_next(&d, &o) == 1 && o.end == d.end);
}

/* ---- cases ---- */

static void numbers(void)
{
	check("i8 u8 i64 u64",
	      "i8 = -128, u8 = 255, i64 = -9223372036854775808, u64 = 18446744073709551615",
	      "\"i8\":-128,\"u8\":255,\"i64\":-9223372036854775808,\"u64\":18446744073709551615");
	check("hex octal real big odd",
	      "hex = 0x1F, octal = 017, real = 1.5, big = 1e+300, odd = inf",
	      "\"hex\":31,\"octal\":15,\"real\":1.5,\"big\":1e+300,\"odd\":\"Infinity\"");
}

static void strings(void)
{
	check("s empty", "s = \"a, b = { 1 } \\\"q\\\" \\x01\\n\\\\\", empty = \"\"",
	      "\"s\":\"a, b = { 1 } \\\"q\\\" \\u0001\\n\\\\\",\"empty\":\"\"");
	check("utf", "utf = \"\xc3\xa4\xff\"", "\"utf\":\"\xc3\xa4\xef\xbf\xbd\"");
}

static void compounds(void)
{
	check("list list[1] list[2] none",
	      "list = [ [0] = 7, [1] = -8 ], list[1] = -8, "
	      "list[2] = unavailable, none = [ ]",
	      "\"list\":[7,-8],\"list[1]\":-8,\"list[2]\":null,\"none\":[]");
	check("points[1].y points[0]",
	      "points[1].y = \"}\", points[0] = { x = 1, y = \"]\" }",
	      "\"points[1].y\":\"}\",\"points[0]\":{\"x\":1,\"y\":\"]\"}");
	check("state other nothing",
	      "state = ( \"on\" : container = 1 ), other = ( <unknown> : container = 7 ), "
	      "nothing = { }",
	      "\"state\":{\"value\":1,\"label\":\"on\"},\"other\":{\"value\":7,\"label\":null},"
	      "\"nothing\":{}");
}

static void unavailable(void)
{
	check("b x i8.x s[0] list.x points[0].z cpu_id",
	      "b = unavailable, x = unavailable, i8.x = unavailable, s[0] = unavailable, "
	      "list.x = unavailable, points[0].z = unavailable, cpu_id = unavailable",
	      "\"b\":null,\"x\":null,\"i8.x\":null,\"s[0]\":null,\"list.x\":null,"
	      "\"points[0].z\":null,\"cpu_id\":null");
	check("$ctx.pid $app.a:x", "$ctx.pid = unavailable, $app.a:x = unavailable",
	      "\"$ctx.pid\":null,\"$app.a:x\":null");
	/* A field that the event lacks, and one after it */
	check("gone kept last last.x", "gone = unavailable, kept = 6, last = unavailable, "
	      "last.x = unavailable",
	      "\"gone\":null,\"kept\":6,\"last\":null,\"last.x\":null");
	/* The trace has `_` for the other characters of a name. */
	check("odd-name odd:name", "odd-name = 5, odd:name = 5",
	      "\"odd-name\":5,\"odd:name\":5");
}

static void context_values(void)
{
	check("$ctx.vpid vpid $ctx.procname $ctx.vpid",
	      "$ctx.vpid = 3, vpid = unavailable, $ctx.procname = \"x\", $ctx.vpid = 3",
	      "\"$ctx.vpid\":3,\"vpid\":null,\"$ctx.procname\":\"x\",\"$ctx.vpid\":3");
	check("$app.a:i $app.a:s $app.a:n $ctx.stack",
	      "$app.a:i = 9, $app.a:s = \"t }\", $app.a:n = unavailable, "
	      "$ctx.stack = [ [0] = 0xFF ]",
	      "\"$app.a:i\":9,\"$app.a:s\":\"t }\",\"$app.a:n\":null,\"$ctx.stack\":[255]");
}

int main(void)
{
	make();
	CASE(numbers);
	CASE(strings);
	CASE(compounds);
	CASE(unavailable);
	CASE(context_values);
	md_buf_deinit(&bytes);
	md_stream_destroy(class);
	return test_summary();
}
