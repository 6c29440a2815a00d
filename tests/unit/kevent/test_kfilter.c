/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * Filters in the kernel's language, and as programs for its records: what it can do of them, never
 * more narrow.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "tests/lib/kformats.h"
#include "tests/lib/test.h"
#include "tracer/abi/filter_interp.h"
#include "tracer/kernel/kevent/kernel_filter.h"

static const char format_sizes[] =
	"name: sizes\nID: 9\n" COMMON
	"\tfield:s8 s8;\toffset:8;\tsize:1;\tsigned:1;\n"
	"\tfield:u8 u8;\toffset:9;\tsize:1;\tsigned:0;\n"
	"\tfield:u16 u16;\toffset:10;\tsize:2;\tsigned:0;\n"
	"\tfield:s32 s32;\toffset:12;\tsize:4;\tsigned:1;\n"
	"\tfield:u64 u64;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:s64 s64;\toffset:24;\tsize:8;\tsigned:1;\n"
	"\tfield:void * pointer;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:__be16 port;\toffset:40;\tsize:2;\tsigned:0;\n"
	"\tfield:char text[8];\toffset:42;\tsize:8;\tsigned:0;\n"
	"\tfield:u32 pair[2];\toffset:52;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \"\"\n";

static struct kformat *format;
static bool exact;                      /* the last text was */

/* The lines' filters, in the kernel's language. */
static const char *print(const char *lines)
{
	static char out[8192];
	struct filter *filters[8] = { NULL };
	struct md_buf text = MD_BUF_INIT;
	size_t n = 0;

	for (; *lines; lines += strcspn(lines, "\n"), lines += *lines == '\n')
		if (filter_parse(SCAN(lines, 0, NULL), DOMAIN_KERNEL, &filters[n]))
			return "no filter";
		else
			n++;
	exact = kfilter_print((const struct filter *const *)filters, n, format, &text);
	snprintf(out, sizeof(out), "%s", md_buf_str(&text));
	md_buf_deinit(&text);
	while (n)
		filter_put(filters[--n]);
	return out;
}

static void use(const char *system, const char *text)
{
	kformat_free(format);
	format = NULL;
	CHECK(!kformat_parse(system, text, strlen(text), &format));
}

static void names(void)
{
	use("sched", format_switch);
	CHECK_STR(print("next_prio < 100"), "next_prio < 100");
	/* The kernel's names, not the trace's. */
	CHECK_STR(print("prev_tid == 17 || next_tid == 17"), "(prev_pid == 17 || next_pid == 17)");
	CHECK_STR(print("next_pid == 17"), "");
	CHECK_STR(print("$ctx.tid != 3"), "common_pid != 3");
	CHECK_STR(print("$ctx.pid != 3"), "");
	CHECK_STR(print("17 >= prev_state"), "prev_state <= 17");
	CHECK_STR(print("prev_state"), "");
	CHECK_STR(print("prev_comm == \"x\""), "");
	/* It has the thread where the trace has the process. */
	use("sched", "name: sched_process_fork\nID: 8\n" COMMON
		     "\tfield:pid_t parent_pid;\toffset:8;\tsize:4;\tsigned:1;\n\tfield:pid_t "
		     "child_pid;\toffset:12;\tsize:4;\tsigned:1;\n\n"
		     "print fmt: \"\"\n");
	CHECK_STR(print("parent_tid == 5"), "parent_pid == 5");
	CHECK_STR(print("parent_pid == 5"), "");
}

static void logic(void)
{
	use("sched", format_switch);
	CHECK_STR(print("next_prio < 100 && next_comm == \"x\" && prev_prio > -1"),
		  "(next_prio < 100 && prev_prio > -1)");
	CHECK_STR(print("next_prio < 100 || next_comm == \"x\""), "");
	CHECK_STR(print("next_comm == \"x\" && (next_prio == 1 || next_prio == 2)"),
		  "((next_prio == 1 || next_prio == 2))");
	CHECK_STR(print("(next_prio == 1 || next_comm == \"x\") && prev_prio == 3"),
		  "(prev_prio == 3)");
	CHECK_STR(print("!(next_prio == 1)"), "");
	CHECK_STR(print("next_prio == 1 && !(prev_prio == 1)"), "(next_prio == 1)");
	CHECK_STR(print("next_prio == prev_prio"), "");
	CHECK_STR(print("(next_prio & 1) == 1"), "");
	CHECK_STR(print("next_prio == 1.0"), "");
	CHECK_STR(print("missing == 1 && next_prio == 1"), "(next_prio == 1)");
	CHECK_STR(print("missing == 1 || next_prio == 1"), "");
}

static void several(void)
{
	use("sched", format_switch);
	CHECK_STR(print("next_prio == 1\nprev_prio == 2 && next_comm == \"x\""),
		  "next_prio == 1 || (prev_prio == 2)");
	CHECK_STR(print("next_prio == 1\nnext_comm == \"x\""), "");
	/* A filter that clashes is never true. */
	CHECK_STR(print("next_prio == 1\nnext_comm == 5\nnext_prio == 2"),
		  "next_prio == 1 || next_prio == 2");
	CHECK_STR(print("next_comm == 5"), "");
}

static void ranges(void)
{
	use("made", format_sizes);
	CHECK_STR(print("s8 == -128 || s8 == 127"), "(s8 == -128 || s8 == 127)");
	CHECK_STR(print("s8 == 128"), "");
	CHECK_STR(print("s8 == -129"), "");
	CHECK_STR(print("u8 == 255"), "u8 == 255");
	CHECK_STR(print("u8 != 256"), "");
	CHECK_STR(print("u8 > -1"), "");
	CHECK_STR(print("u16 <= 0xffff"), "u16 <= 65535");
	CHECK_STR(print("s32 > -2147483648"), "s32 > -2147483648");
	CHECK_STR(print("s32 < 2147483648"), "");
	CHECK_STR(print("u64 == 18446744073709551615u"), "u64 == 18446744073709551615");
	CHECK_STR(print("s64 == 18446744073709551615u"), "");
	CHECK_STR(print("s64 == 9223372036854775807"), "s64 == 9223372036854775807");
	CHECK_STR(print("s64 >= -9223372036854775807"), "s64 >= -9223372036854775807");
	CHECK_STR(print("pointer == 0"), "pointer == 0");
	CHECK_STR(print("port == 80"), "");
	CHECK_STR(print("pair[1] == 80"), "");
	use("syscalls", format_open);
	/* Of an address that stands for a string, the trace has text. */
	CHECK_STR(print("filename == 1"), "");
	/* A sign that only the C type has. */
	use("syscalls", "name: sys_enter_lseek\nID: 10\n" COMMON
			"\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n\tfield:off_t "
			"offset;\toffset:16;\tsize:8;\tsigned:0;\n\n"
			"print fmt: \"\"\n");
	CHECK_STR(print("offset == 1 || offset != -1"),
		  "(offset == 1 || offset != 18446744073709551615)");
	CHECK_STR(print("offset < 1"), "");
}

/* Of what print() made of comparisons with `x`: whether it is true, as the kernel reads it. */
static bool holds(const char **at, uint64_t x);

static bool holds_one(const char **at, uint64_t x)
{
	unsigned long long bits;
	bool not = **at == '!', is;
	int n = 0;

	*at += not;
	if (sscanf(*at, "(x & %llu)%n", &bits, &n) == 1 && n) {
		*at += n;
		return !(x & bits) == not;
	}
	if (sscanf(*at, "x & %llu%n", &bits, &n) == 1 && n) {
		*at += n;
		return (x & bits) != 0;
	}
	CHECK(**at == '(');
	++*at;
	is = holds(at, x);
	CHECK(**at == ')');
	++*at;
	return is != not;
}

static bool holds(const char **at, uint64_t x)
{
	bool is = holds_one(at, x), next;

	while (**at == ' ') {
		bool both = !strncmp(*at, " && ", 4);

		*at += 4;
		next = holds_one(at, x);
		is = both ? is && next : is || next;
	}
	return is;
}

static bool compare(int64_t a, const char *op, int64_t b)
{
	return !strcmp(op, "==")   ? a == b
	       : !strcmp(op, "!=") ? a != b
	       : !strcmp(op, "<")  ? a < b
	       : !strcmp(op, "<=") ? a <= b
	       : !strcmp(op, ">")  ? a > b
				   : a >= b;
}

static void compare_all(bool is_signed, int64_t c)
{
	static const char *const ops[] = { "==", "!=", "<", "<=", ">", ">=" };
	static const int64_t near[] = {
		0,         1,  2,  3,         4096,          4097,      4098, INT32_MAX - 1,
		INT32_MAX, -1, -2, INT32_MIN, INT32_MIN + 1, 0x55555555
	};
	char filter[64];

	for (size_t i = 0; i < 6; i++) {
		const char *text;

		snprintf(filter, sizeof(filter), "x %s %" PRId64, ops[i], c);
		text = print(filter);
		if (!*text) {   /* it is always true, or never */
			CHECK(strlen(ops[i]) < 3 && !exact);
			continue;
		}
		CHECK(exact);
		for (size_t k = 0; k < sizeof(near) / sizeof(near[0]) + 64; k++) {
			uint64_t low = k < 64 ? (uint64_t)c + k - 32 : (uint64_t)near[k - 64];
			int64_t x = is_signed ? (int32_t)low : (int64_t)(uint32_t)low;
			const char *at = text;

			/* Above its type's bits an argument has anything. */
			CHECK(holds(&at, (low & UINT32_MAX) | (uint64_t)k << 33) ==
			      compare(x, ops[i], c));
			CHECK(!*at);
		}
	}
}

/*
 * The trace has an argument's type, the record a register, of which the kernel compares the whole.
 */
static void narrow(void)
{
	use("syscalls",
	    "name: sys_enter_made\nID: 10\n" COMMON
	    "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n\tfield:unsigned int "
	    "x;\toffset:16;\tsize:8;\tsigned:0;\n\n"
	    "print fmt: \"\"\n");
	CHECK_STR(print("x == 4097"), "(!(x & 4294963198) && x & 1 && x & 4096)");
	CHECK_STR(print("x != 0"), "!(!(x & 4294967295))");
	CHECK_STR(print("3 > x"), "(!(x & 4294967292) && (!(x & 2) || (!(x & 1))))");
	CHECK_STR(print("x == 4294967296"), "");
	for (int64_t c = 0; c < 20; c++) {
		compare_all(false, c);
		compare_all(false, UINT32_MAX - c);
		compare_all(false, 0x80000000 + c - 10);
		compare_all(false, 0x12345678 * c % UINT32_MAX);
	}
	use("syscalls", "name: sys_enter_made\nID: 10\n" COMMON
			"\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n\tfield:int "
			"x;\toffset:16;\tsize:8;\tsigned:0;\n\n"
			"print fmt: \"\"\n");
	CHECK_STR(print("x < 0"), "(x & 2147483648)");
	for (int64_t c = 0; c < 20; c++) {
		compare_all(true, c - 10);
		compare_all(true, INT32_MAX - c);
		compare_all(true, INT32_MIN + c);
		compare_all(true, (int32_t)(0x12345678 * c));
	}
}

/* Whether the kernel lets nothing pass that the filters reject. */
static void exactness(void)
{
	use("sched", format_switch);
	print("next_prio < 100 && prev_prio > -1");
	CHECK(exact);
	print("next_prio < 100 && next_comm == \"x\"");
	CHECK(!exact);
	print("next_comm == \"x\"");
	CHECK(!exact);
	print("next_prio == 1\nnext_comm == 5");
	CHECK(exact);
	print("next_comm == 5");
	CHECK(!exact);
	print("next_prio == 1\nprev_prio == 2 && next_comm == \"x\"");
	CHECK(!exact);
}

static void too_long(void)
{
	static char text[8192];
	size_t n = 0;

	use("sched", format_switch);
	for (int i = 0; i < 150; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%sprev_tid == %d",
				      i ? " || " : "", i);
	CHECK(n < FILTER_TEXT_MAX && *print(text));
	text[n] = '\n';
	memcpy(text + n + 1, text, n);
	CHECK_STR(print(text), "");
}

/* ---- programs ---- */

static const char format_record[] =
	"name: sched_record\nID: 12\n" COMMON
	"\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:__data_loc u32[] many;\toffset:12;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc char[] name;\toffset:16;\tsize:4;\tsigned:1;\n"
	"\tfield:__rel_loc char[] other;\toffset:20;\tsize:4;\tsigned:1;\n"
	"\tfield:char prev_comm[16];\toffset:24;\tsize:16;\tsigned:1;\n"
	"\tfield:__data_loc char[] comm;\toffset:40;\tsize:4;\tsigned:1;\n\n"
	"print fmt: \"\"\n";

static const struct {
	struct {
		uint32_t common[2];
		int32_t a;
		uint32_t many, name, other;
		char prev_comm[16];
		uint32_t comm;
		uint32_t elements[2];
	} fixed;
	char text[8], after[4], tail[20];
} record = {
	{ { 0 },
	  -5,
	  44 | 8 << 16,
	  52 | 8 << 16,
	  36 | 4 << 16,
	  "comm\0garbage",
	  64 | 20 << 16,
	  { 7, 4000000000 } },
	"text\0xx",
	"beh",
	"0123456789abcdefgh",
};

static bool ctx(void *arg, uint32_t kind, const char *name, struct filter_value *out)
{
	(void)arg, (void)name;
	*out = (struct filter_value){ .type = FILTER_SIGNED,
				      .i = kind == TRAIL_CONTEXT_TID ? 102 : 101 };
	return true;
}

/*
 * What becomes of the record: "all" without asking, "yes", "no". len: of the record, 0: all of it.
 */
static const char *run(const char *lines, size_t len)
{
	struct filter_input in = { .payload = (const uint8_t *)&record,
				   .len = len ? len : sizeof(record),
				   .context = ctx };
	struct filter *filters[4] = { NULL };
	struct md_buf program = MD_BUF_INIT;
	const char *result = "all";
	size_t n = 0;

	for (; *lines; lines += strcspn(lines, "\n"), lines += *lines == '\n')
		if (filter_parse(SCAN(lines, 0, NULL), DOMAIN_KERNEL, &filters[n++]))
			return "no filter";
	kfilter_compile((const struct filter *const *)filters, n, format, &program);
	if (program.len && !filter_verify(program.data, program.len))
		result = "bad";
	else if (program.len)
		result = filter_run(program.data, program.len, &in) ? "yes" : "no";
	while (n)
		filter_put(filters[--n]);
	md_buf_deinit(&program);
	return result;
}

static void programs(void)
{
	use("sched", format_record);
	CHECK_STR(run("a == -5 && a < 0u", 0), "yes");
	CHECK_STR(run("a > 0", 0), "no");
	CHECK_STR(run("a", 0), "yes");
	CHECK_STR(run("many[1] == 4000000000", 0), "yes");
	CHECK_STR(run("many[2] == 0 || 1", 0), "no");
	CHECK_STR(run("name == \"text\" && name != \"text*x\" && name == \"*ex*\"", 0), "yes");
	CHECK_STR(run("other == \"beh\"", 0), "yes");
	CHECK_STR(run("prev_comm == \"comm\"", 0), "yes");
	/* As the trace has it: 15 bytes. */
	CHECK_STR(run("comm == \"0123456789abcde\"", 0), "yes");
	CHECK_STR(run("!(a == -5)", 0), "no");
	CHECK_STR(run("$ctx.tid == 102 && $ctx.pid == 101", 0), "yes");
	CHECK_STR(run("$ctx.cpu_id == 4", 0), "no");
	/* What lies outside is empty, or the record is none. */
	CHECK_STR(run("name == \"\"", 55), "yes");
	CHECK_STR(run("name == \"\" || a", 18), "no");
	CHECK_STR(run("a != 5", 9), "no");
	/* Never, whatever there is. */
	CHECK_STR(run("missing == 1", 0), "no");
	CHECK_STR(run("name == 5\nprev_comm < 3", 0), "no");
	CHECK_STR(run("name == 5\na == -5", 0), "yes");
}

/* A byte of a text is nothing that the record tells: of the rest as much as can be is done. */
static void weakened(void)
{
	use("sched", format_record);
	CHECK_STR(run("prev_comm[5] == 0", 0), "all");
	CHECK_STR(run("!(prev_comm[5] == 0)", 0), "all");
	CHECK_STR(run("prev_comm[5] == 0 || a == 1", 0), "all");
	CHECK_STR(run("prev_comm[5] == 0 && a == 1", 0), "no");
	CHECK_STR(run("prev_comm[5] == 0 && a == -5", 0), "yes");
	CHECK_STR(run("a == -5 && (prev_comm[5] || a == 1)", 0), "yes");
	CHECK_STR(run("a == 1\nprev_comm[5] == 0", 0), "all");
	CHECK_STR(run("a == 1\nprev_comm[5] == 0 && a == 2", 0), "no");
	/* prev_comm[5] may be 0, and then the element is not asked for. */
	CHECK_STR(run("prev_comm[5] && many[9] == 1 || a == -5", 0), "all");
	CHECK_STR(run("many[9] == 1 && prev_comm[5] || a == -5", 0), "no");
	CHECK_STR(run("prev_comm[5] && (many[0] == 8 && name == \"x\") && a == 1 || a == 2", 0),
		  "no");
	CHECK_STR(run("prev_comm[5] && many[9] == 1", 0), "no");
}

int main(void)
{
	CASE(names);
	CASE(logic);
	CASE(several);
	CASE_OF_64_BITS(ranges);
	CASE(narrow);
	CASE(exactness);
	CASE(too_long);
	CASE(programs);
	CASE(weakened);
	kformat_free(format);
	return test_summary();
}
