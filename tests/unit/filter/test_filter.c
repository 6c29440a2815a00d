/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "tests/lib/plain_filter.h"
#include "tests/lib/test.h"
#include "tests/unit/filter/outcome.h"

/* The first byte is the result: T, F; A always true, N never: without a program; E types clash. */
static const char *const table[] = {
	/* clang-format off */
	/* fields, signs and sizes */
	"T s8 == -3", "F s8 == 253", "T s8 < 0", "T s8 >= -3", "F s8 > -3", "T u8 == 200",
	"F u8 != 200", "T u8 > 127", "T s16 == -300", "T u16 == 60000", "T id == -70000",
	"T id <= -70000", "F id < -70000", "T u32 == 4000000000", "T u32 > 2147483647",
	"T least == -9223372036854775808", "T least < -9223372036854775807",
	"T most == 18446744073709551615", "T most == 0xffffffffffffffff",
	"T most == 01777777777777777777777u", "F most < 5", "T most > least", "F most == -1",
	"T -1 < most", "F least > most", "T least < u8", "T 5 > s8", "T -3 == s8", "F 0 <= s8",
	"F zero", "T id", "T !zero", "T code == 500 && after == -9", "T code >= 500",
	"T hidden == 42", "T not_a_name == 77", "T s8 == s8", "T u8 != s8", "T be16 == -2",
	"T be16 < 0", "T beu16 == 0x1234", "T be32 == 0x12345678", "T be64 == -5", "T be64 < be16",
	"T fbe > 9e299",
	/* always and never */
	"A u8 < 256", "A u8 >= 0", "N u8 < 0", "N u8 == 256", "A u8 != -1", "A s8 > -129",
	"N s8 == 128", "N most == -1", "A most >= 0", "A least <= 9223372036854775807",
	"N least > 9223372036854775807", "A 1", "N 0", "A 1.0 || id", "A id || 1", "N id && 0",
	"A !(id && 0)", "N nothing", "N !nothing", "N nothing == 1", "N !(nothing == 1)",
	"N nothing || 1", "N id == 1 && nothing", "A 1 || nothing", "N 0 || nothing",
	"N nothing.else[3].x < 4", "N id.member == 1", "N mac[4] == 1", "N $ctx.vpid.x == 0",
	"A path == \"*\"", "N path != \"*\"", "A 1 == 1.0", "A \"a\" == \"a\"",
	"A \"a*\" == \"abc\"", "N \"a*\" == \"b\"", "A \"a\\*\" == \"a*\"", "N nothing << 1",
	"N 1 << nothing", "N ~nothing", "N (nothing && 1) != 2 || 1", "A 2 ^ 3 == 1",
	/* short circuits */
	"T id == -70000 || nothing", "F id == 1 || nothing", "F id == -70000 && nothing",
	"F nothing && id == 1 || id == -70000", "T !(id == 1 && nothing)",
	"F !(id == -70000 && nothing)",
	"T id == 1 || id == 2 || id == -70000 || nothing == 4 || id == 6", "F vals[3] == 0 || 1",
	"F !(vals[3] == 0)", "T vals[0] == -1 || vals[3]", "F (vals[3] == 0) == 0",
	"F vals[9] && 0 || 1",
	/* indices */
	"T mac[0] == 1", "T mac[2] == 255", "T mac[3] >> 2", "T vals[0] == -1", "T vals[2] == 30",
	"F vals[3] == 30", "T ports[0] == 80", "T ports[ 1 ] == 65535", "F none[0] == 0",
	"F !none[0]", "T msg[0] == 0x68", "T comm[1] == 0x61", "T full[3] == 0x64",
	"F vals[18446744073709551615] == 0 || id == 1", "T mac [0x1] == 2", "T vals[1] < vals[2]",
	/* floating point */
	"T f32 == 1.5", "T f32 < 2", "T f32 > 1", "T f64 == -2.25", "T f64 < id || 1 < f32",
	"T -f64 == 2.25", "T fbe == 1e300", "T f32", "F nan == nan", "T nan != nan", "F nan < 0",
	"F nan >= 0", "F !(nan != 1)", "T !(nan >= 0)", "T !(nan < 0)", "T nan", "T u8 < 200.5",
	"T least == -9223372036854775808.0", "T most == 1.8446744073709552e19", "T id < .5",
	"T f32 == 15e-1f", "T 1. < f32",
	/* bits */
	"T u8 & 8", "F u8 & 1", "T (u8 & 0xf0) == 0xc0", "T u8 & 0xf0 == 0xc0", "T u8 | 1 == 201",
	"T u8 ^ 200 == 0", "T 1 << 4 == 16", "T s8 & 0xff == 0xfd", "T ~s8 == 2",
	"T ~u8 == 0xffffffffffffff37", "T s8 >> 63 == 1", "T most >> 63 == 1", "T -1 == ~0",
	"A ~0 >> 4 == 0x0fffffffffffffff", "A (~0 & 0xffffffffffffffff) == 0xffffffffffffffff",
	"A (1 << 63) < 0", "A (1 << 63) == 9223372036854775808", "A ~0 == 0xffffffffffffffff",
	"N ~0 != 0xffffffffffffffff", "N -1 == 0xffffffffffffffff", "A ~0 == -1",
	"T ~u8 == -201", "T (s8 & -1) == (u8 & 0 | 0xfffffffffffffffd)", "T ~$app.a:int == 4",
	"T (s8 | 0) == 0xfffffffffffffffd", "T $app.a:int & -1 == 0xfffffffffffffffb",
	"F s8 == 0xfffffffffffffffd", "T s8 == (0xfffffffffffffffd | 0)", "F u8 == ~200",
	"T ~(u8 | 0) != (s8 | 0)", "T ~u8 > 0", "N 1 << -1", "N 1 << 64",
	"F id << 64 || 1", "F 1 << u8 || 1",
	"F id >> s8 || 1", "F 1 << u8 && 0 || 1", "T most << 63 == 1u << 63",
	"A 1 << 63 == -9223372036854775808", "A -9223372036854775808 < 0",
	"A -(-9223372036854775808) < 0", "T -u8 == -200", "T -most == 1", "T +id == -70000",
	"T u8 & 8 && u8 & 64 && !(u8 & 32)", "A 2 & 2 == 2", "T 1 | 6 ^ 3 & 2 == 5",
	"T (u8 == 200) == 1", "T (u8 == 200) & 1", "T 1 >= (1 >= (u8 >= 1))",
	"T (id && u8) << 2 == 4", "T (id && zero) == 0", "T !id == zero", "T !!id == 1",
	"T 3 > 2 > (u8 == 0)", "T u8 == 200 == 1", "T (code | (u8 | (u16 | 1))) > 0",
	/* strings */
	"T path == \"/usr/bin/app\\*\"", "T path == \"/usr/*\"", "T path == \"*app\\*\"",
	"T path == \"*app*\"", "T path == \"*\\**\"", "F path == \"/usr/bin/app\"",
	"T path != \"/usr/bin/app\"", "F path == \"/usr/bin/app\\*x\"", "T path == \"/*/*/*\"",
	"F path == \"/*/*/*/*\"", "T path == \"/u*n/*pp*\"", "F path == \"*/usr/bin/app\\*/*\"",
	"T path == \"**\" && id", "T path == secret", "T path != empty", "T empty == \"\"",
	"F path == \"\"", "F empty == \"x*\"", "F empty == \"*x\"", "A empty == \"*\"",
	"F empty == \"*x*\"", "T \"/usr*\" == path", "T comm == \"bash\"", "F comm == \"bas\"",
	"T comm == \"b*h\"", "T comm == \"*\" && id", "T full == \"abcd\"", "F full == \"abc\"",
	"T full == \"*d\"", "F full == \"a*bcde\"", "F full == \"abc*bcd\"", "T msg == \"hello\"",
	"T msg == \"*l*l*\"", "F msg == \"*l*l*l*\"", "T msg == \"h*\" && secret == \"*app\\*\"",
	"T secret == \"/usr*\"", "T msg != comm", "F full == msg", "T path == \"\\x2fusr\\057*\"",
	"F path == \"/USR*\"", "T path != \"/USR*\"", "F path != \"/usr*\"", "T path != \"*sbin*\"",
	"F path != \"*/bin/*\"", "T !(path == \"*x*y*\")", "T (path == \"/usr*\") == 1",
	"T path == \"*/*/*/*\"", "T path == \"*r/b*n/a*p*\"",
	/* contexts */
	"T $ctx.vpid == -7", "T $ctx.vpid < 0", "F $ctx.vtid == 0", "F !$ctx.vtid",
	"F $ctx.vtid || 1", "A 1 || $ctx.vtid", "T $ctx.procname == \"trailfs-test\"",
	"T $ctx.procname == \"trail*\"", "T \"*test\" == $ctx.procname", "T $ctx.procname == \"*\"",
	"T $ctx.cpu_id == 3", "T $ctx.vuid == 1007", "T $ctx.uts_ns > $ctx.vuid",
	"T $ctx.perf:thread:cpu-cycles > 0", "F $ctx.perf:thread:cache-misses >= 0",
	"T $app.a:int == -5", "T $app.a:float > 2", "T $app.a:text == \"a *\"",
	"F $app.a:text == 5", "F !($app.a:text == 5)", "F $app.a:int == \"*\"",
	"F $app.a:int != \"x\"", "F $app.b:none", "F !$app.b:none", "F $app.a:text",
	"F $app.a:float & 1", "F ~$app.a:float", "F !($app.a:text == 1) || 1", "T $app.a:int < s8",
	"T -$app.a:int == 5", "F -$app.a:text == 5", "T $app.a:int & 1",
	"T $app.a:text == $app.a:text", "F $app.a:text == $app.a:int", "F 1 << $app.a:float",
	"T 1 << ~$app.a:int == 16", "T $app.a:float", "F $ctx.vtid == 1 && 0 || 1",
	/* clashes for this event */
	"E path < 3", "E path == 3", "E path && 1", "E path", "E !msg", "E f32 & 1", "E ~f64",
	"E id[0]", "E path[0]", "E mac", "E mac == 1", "E mac[0][1]", "E vals == 3", "E path < msg",
	"E -path", "E 1 << f32", "E id == 1 || path", "E nothing == 1 && path == 1",
	"E (path == 1) == nothing", "E id == \"x\"", "E f32 | nothing",
	/* clang-format on */
};

static void expressions(void)
{
	struct sample s;
	size_t i;

	sample_everything(&s);
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct filter *f;
		char got;

		f = sample_parse(table[i] + 2);
		got = f ? outcome(f, &s) : '-';
		/*
		 * T and F stand for any program or none: whether it is folded is not the point of
		 * those rows.
		 */
		if (got != table[i][0] && !(got == 'A' && table[i][0] == 'T') &&
		    !(got == 'N' && table[i][0] == 'F')) {
			printf("# %s: %c\n", table[i], got);
			CHECK(false);
		}
		filter_put(f);
	}
	sample_deinit(&s);
}

/* ---- text ---- */

static const char *printed(const char *text)
{
	static struct md_buf out, again;
	struct filter *f = sample_parse(text), *g;

	md_buf_reset(&out);
	md_buf_reset(&again);
	if (f) {
		filter_print(f, &out);
		g = sample_parse(md_buf_str(&out));
		if (g)
			filter_print(g, &again);
		filter_put(g);
	}
	filter_put(f);
	CHECK_STR(md_buf_str(&again), md_buf_str(&out));
	return md_buf_str(&out);
}

static void printed_in_one_way(void)
{
	size_t i;

	CHECK_STR(printed("  a==1&&b\t!= 0x1F ||!c  "), "a == 1 && b != 0x1F || !c");
	CHECK_STR(printed("a == 1 && (b == 2 || (c == 3))"), "a == 1 && (b == 2 || (c == 3))");
	CHECK_STR(printed("((a)) == ((( 1 )))"), "(a) == (1)");
	CHECK_STR(printed("(a == 1 && b) && c"), "(a == 1 && b) && c");
	CHECK_STR(printed("a | b | c & ~ - + ! d"), "a | b | c & ~-+!d");
	CHECK_STR(printed("- -a == - 1"), "--a == -1");
	CHECK_STR(printed("a [ 0x10 ] . b.c[2][3] < 1"), "a[16].b.c[2][3] < 1");
	CHECK_STR(printed("$ctx.vpid==1||$app.p_1:n_2.x[0]||$ctx.perf:thread:cpu-cycles>1"),
		  "$ctx.vpid == 1 || $app.p_1:n_2.x[0] || $ctx.perf:thread:cpu-cycles > 1");
	CHECK_STR(printed("a == \"x\\x41\\101**\\*\\\\*\\t\\xff\xc3\xa4\\\"\""),
		  "a == \"xAA*\\*\\\\*\\t\\377\xc3\xa4\\\"\"");
	CHECK_STR(printed("a<1.50e+3f||.5<b||1.<c||0777ULL>d||1lu==e\nrest"),
		  "a < 1.50e+3f || .5 < b || 1. < c || 0777ULL > d || 1lu == e");
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		CHECK(*printed(table[i] + 2));
}

/* Every tree of registers that a line can hold fits into the machine's. */
static void registers(void)
{
	struct md_buf text = MD_BUF_INIT;
	struct sample s;
	struct filter *f;
	int i;

	sample_everything(&s);
	/* A full binary tree of 256 leaves, as a | b in parentheses. */
	for (i = 0; i < 256; i++) {
		int level;

		for (level = 0; level <= 7; level++)
			if (i % (1 << (level + 1)) == 0)
				md_buf_putc(&text, '(');
		md_buf_puts(&text, "id");
		for (level = 0; level <= 7; level++)
			if (i % (1 << (level + 1)) == (1 << (level + 1)) - 1)
				md_buf_putc(&text, ')');
		if (i < 255)
			md_buf_putc(&text, i % 2 ? '^' : '|');
	}
	f = sample_parse(md_buf_str(&text));
	CHECK(f && outcome(f, &s) == 'F');
	filter_put(f);
	md_buf_reset(&text);
	for (i = 0; i < 60; i++)
		md_buf_puts(&text, "id | (");
	md_buf_puts(&text, "id");
	for (i = 0; i < 60; i++)
		md_buf_puts(&text, ")");
	f = sample_parse(md_buf_str(&text));
	CHECK(f && outcome(f, &s) == 'T');
	filter_put(f);
	md_buf_deinit(&text);
	sample_deinit(&s);
}

/* ---- lists ---- */

/* Filters separated by semicolons. */
static char any(const struct sample *s, const char *texts)
{
	struct filter *list[10] = { NULL };
	struct filter_event e = sample_event(s);
	struct md_buf out = MD_BUF_INIT;
	size_t n = 0, i;
	char text[200];
	int ret, run;

	while (*texts) {
		size_t len = strcspn(texts, ";");

		snprintf(text, sizeof(text), "%.*s", (int)len, texts);
		list[n] = sample_parse(text);
		CHECK(list[n]);
		n++;
		texts += len + (texts[len] == ';');
	}
	ret = filter_compile((const struct filter *const *)list, n, &e, &out);
	run = sample_run((const struct filter *const *)list, n, s);
	md_buf_deinit(&out);
	for (i = 0; i < n; i++)
		filter_put(list[i]);
	return ret == 1 ? 'A' : ret == 2 ? 'N' : ret || run < 0 ? '!' : run ? 'T' : 'F';
}

static void any_of_several(void)
{
	struct sample s;

	sample_everything(&s);
	CHECK(any(&s, "id == 1;u8 == 200") == 'T');
	CHECK(any(&s, "id == 1;u8 == 201;path == \"x\"") == 'F');
	CHECK(any(&s, "u8 == 200;id == 1") == 'T');
	CHECK(any(&s, "id == 1;1") == 'A');
	CHECK(any(&s, "path == 1;id == 1;1;nothing") == 'A');
	CHECK(any(&s, "path == 1;nothing;id == 1 && nothing;0") == 'N');
	CHECK(any(&s, "") == 'N');
	CHECK(any(&s, "nothing == 1;u8 == 200") == 'T');
	CHECK(any(&s, "u8 == 200;nothing == 1") == 'T');
	CHECK(any(&s, "u8 == 200;path == 3") == 'T');
	/* A failure ends one filter, not the others. */
	CHECK(any(&s, "vals[7] == 1;u8 == 200") == 'T');
	CHECK(any(&s, "$ctx.vtid == 1;vals[7];u8 == 200") == 'T');
	CHECK(any(&s, "$ctx.vtid == 1 || u8 == 200;vals[7]") == 'F');
	CHECK(any(&s, "u8 == 200 && nothing;vals[0] == -1") == 'T');
	CHECK(any(&s, "vals[7];id == 1 && nothing") == 'F');
	CHECK(any(&s, "vals[7] || 1;u8 == 200;id == 1 && nothing") == 'T');
	CHECK(any(&s,
		  "vals[0] == 7 && vals[1] == 20;path == \"*usr*\" && msg == \"hell*\";1 << 80") ==
	      'T');
	sample_deinit(&s);
}

static void no_room(void)
{
	struct filter *list[2000];
	struct filter_event e;
	struct md_buf out = MD_BUF_INIT, text = MD_BUF_INIT;
	struct sample s;
	size_t i;

	sample_everything(&s);
	e = sample_event(&s);
	md_buf_puts(&out, "x");
	for (i = 0; i < 2000; i++) {
		md_buf_reset(&text);
		md_buf_printf(&text, "id == %zu && path == \"%zu*\"", i, i);
		list[i] = sample_parse(md_buf_str(&text));
	}
	CHECK(filter_compile((const struct filter *const *)list, 1400, &e, &out) == 0 &&
	      out.len > 40000);
	out.len = 1;
	CHECK(filter_compile((const struct filter *const *)list, 2000, &e, &out) == -E2BIG &&
	      out.len == 1);
	for (i = 0; i < 2000; i++)
		filter_put(list[i]);
	list[0] = sample_parse("id");
	CHECK(filter_get(list[0]) == list[0]);
	filter_put(list[0]);
	filter_put(list[0]);
	filter_put(NULL);
	md_buf_deinit(&text);
	md_buf_deinit(&out);
	sample_deinit(&s);
}

int main(void)
{
	CASE(expressions);
	CASE(printed_in_one_way);
	CASE(registers);
	CASE(any_of_several);
	CASE(no_room);
	return test_summary();
}
