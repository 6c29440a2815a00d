/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "tests/lib/event_key.h"
#include "tests/lib/test.h"
#include "tracer/base/rule/kernel_pattern.h"
#include "tracer/base/rule/rule.h"
#include "tracer/face/tracer.h"

static void patterns(void)
{
	static const struct { const char *pattern, *key; bool matches; } cases[] = {
		{ "*", "sched:sched_switch", true },
		{ "*", "syscall:entry:openat", false },
		{ "*:*", "sched:sched_switch", true },
		{ "*:*", "syscall:entry:openat", false },
		{ "sched_switch", "sched:sched_switch", true },
		{ "sched_switch", "sched:sched_switch_x", false },
		{ "sched:sched_switch", "sched:sched_switch", true },
		{ "sched:*", "sched:sched_switch", true },
		{ "sched:*", "sched_ext:sched_ext_dump", false },
		{ "*:sched_*", "sched_ext:sched_ext_dump", true },
		{ "cpu_frequency", "power:cpu_frequency/power_cpu_frequency", true },
		{ "power_cpu_frequency", "power:cpu_frequency/power_cpu_frequency", true },
		{ "power_*", "power:cpu_frequency/power_cpu_frequency", true },
		{ "power:cpu_frequency", "power:cpu_frequency/power_cpu_frequency", true },
		{ "power:power_cpu_frequency", "power:cpu_frequency/power_cpu_frequency", false },
		{ "syscall:openat", "syscall:entry:openat", true },
		{ "syscall:openat", "syscall:exit:openat", true },
		{ "syscall:open*", "syscall:exit:openat", true },
		{ "syscall:*", "syscall:exit:openat", true },
		{ "syscall:*", "sched:sched_switch", false },
		{ "syscall:entry:openat", "syscall:entry:openat", true },
		{ "syscall:entry:openat", "syscall:exit:openat", false },
		{ "syscall:exit:*", "syscall:exit:openat", true },
		{ "openat", "syscall:entry:openat", false },
		{ "*", "lttng_statedump:lttng_statedump_start", true },
		{ "lttng_statedump_*", "lttng_statedump:lttng_statedump_start", true },
		{ "syscall:openat", "syscalls:sys_enter_openat", false },
		{ "kprobe:vfs_read", "kprobe:vfs_read", true },
		{ "kprobe:vfs_read", "kprobe:vfs_read+8", false },
		{ "uprobe:/a b:c", "uprobe:/a b:c", true },
		{ "*", "kprobe:vfs_read", false },
		{ "*:*", "usdt:/a:b:c", false },
		{ "kprobe:vfs_read", "kprobes:vfs_read", false },
		{ "function:vfs_*", "function:", true },
		{ "*", "function:", false },
		{ "function:*", "sched:sched_switch", false },
		{ "function:*", "kprobe:vfs_read", false },
		{ "sample:cpu", "sample:cpu", true },
		{ "sample:cpu", "sample:faults", false },
		{ "*", "sample:cpu", false },
		{ "sample:cpu", "sched:cpu", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (krule_match(EVENT_KEY(cases[i].pattern), EVENT_KEY(cases[i].key)) !=
		    cases[i].matches) {
			printf("# pattern %s key %s\n", cases[i].pattern, cases[i].key);
			CHECK(false);
		}
	CHECK_STR(krule_syscall_name("syscall:openat"), "openat");
	CHECK_STR(krule_syscall_name("syscall:exit:openat"), "openat");
}

/* "ERRNO COLUMN", or how the list reads back. */
static const char *apply(const char *lines)
{
	static char out[1024];
	struct tr_err err = TR_ERR_INIT;
	struct rule_list l = { 0 };
	struct md_buf text = MD_BUF_INIT;
	int ret = rule_list_apply(NULL, DOMAIN_KERNEL, lines, true, &l, &err);

	if (ret) {
		snprintf(out, sizeof(out), "%d %d", ret, err.column);
		return out;
	}
	rule_list_print(&l, &text);
	snprintf(out, sizeof(out), "%s", md_buf_str(&text));
	md_buf_deinit(&text);
	rule_list_deinit(&l);
	return out;
}

static void lists(void)
{
	char want[64];

	CHECK_STR(apply("sched_switch\n*\n~syscall:*"), "sched_switch\n*\n~syscall:*\n");
	CHECK_STR(apply("*  except  irq:*,syscall:read if a > 1"),
		  "* except irq:*,syscall:read if a > 1\n");
	CHECK_STR(apply("a\nb\n!a"), "b\n");
	CHECK_STR(apply("kprobe:do_exit\nusdt:/bin/true:a:b\n~kretprobe:x"),
		  "kprobe:do_exit\nusdt:/bin/true:a:b\n~kretprobe:x\n");
	CHECK_STR(apply("\"uprobe:/a b/c:d\" if ip > 1"), "\"uprobe:/a b/c:d\" if ip > 1\n");
	CHECK_STR(apply("\"uprobe:/a:b\"\n\"uprobe:/x y\\\\\\\"z:b\"\nuprobe:/a\\b:c"),
		  "uprobe:/a:b\n\"uprobe:/x y\\\\\\\"z:b\"\nuprobe:/a\\b:c\n");
	CHECK_STR(apply("kprobe:a\nkprobe:b\n!kprobe:a"), "kprobe:b\n");
	CHECK_STR(apply("uprobe:/x y:b") + 4, "9");
	CHECK_STR(apply("kprobe:a except b") + 4, "16");
	CHECK_STR(apply("* except kprobe:a") + 4, "9");
	CHECK_STR(apply("* except function:a") + 4, "9");
	CHECK_STR(apply("kprobe:a*") + 4, "8");
	CHECK_STR(apply("uprobe:/a/../b:c") + 4, "10");
	CHECK_STR(apply("kprobe:") + 4, "7");
	CHECK_STR(apply("function:vfs_* except function:vfs_read,function:vfs_w* if parent_ip > 1"),
		  "function:vfs_* except function:vfs_read,function:vfs_w* if parent_ip > 1\n");
	CHECK_STR(apply("sample:cpu  99Hz if pid > 1"), "sample:cpu 99hz if pid > 1\n");
	CHECK_STR(apply("sample:cpu 99"), "sample:cpu 99hz\n");
	CHECK_STR(apply("~sample:faults"), "~sample:faults\n");
	CHECK_STR(apply("sample:cycles 10000"), "sample:cycles 10000\n");
	CHECK_STR(apply("sample:cycles 9999") + 4, "14");
	CHECK_STR(apply("sample:cpu 99999999999999999999999999") + 4, "11");
	CHECK_STR(apply("sample:cpu 99hz 98hz") + 4, "16");
	CHECK_STR(apply("sample:faults 1hz") + 4, "14");
	CHECK_STR(apply("sample:c*") + 4, "7");
	CHECK_STR(apply("* except sample:cpu") + 4, "9");
	CHECK_STR(apply("function:") + 4, "9");
	CHECK_STR(apply("function:a?") + 4, "10");
	CHECK_STR(apply("function:a except b") + 4, "18");
	snprintf(want, sizeof(want), "%d 2", -EINVAL);
	CHECK_STR(apply("a loglevel info"), want);
	CHECK_STR(apply("a/b") + 4, "1");
	CHECK_STR(apply("a:") + 4, "2");
	CHECK_STR(apply("a:b:c") + 4, "1");
	CHECK_STR(apply("syscall:") + 4, "8");
	CHECK_STR(apply("syscall:x:y") + 4, "8");
}

static const char *keys(const char *line)
{
	static char out[512];
	struct rule_list l = { 0 };

	if (rule_list_apply(NULL, DOMAIN_KERNEL, line, true, &l, NULL))
		return "refused";
	snprintf(out, sizeof(out), "%s|", key_text(&l.rules[0].keys[0]));
	if (l.rules[0].key_count > 1)
		snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s",
			 key_text(&l.rules[0].keys[1]));
	for (char *p = out; *p; p++)
		*p = *p == '\v' ? '=' : *p == '\t' ? ' ' : *p;
	rule_list_deinit(&l);
	return out;
}

/* A call is two events; $retval belongs to the second. */
static void calls(void)
{
	CHECK_STR(keys("kprobe:a as b with c"), "kprobe:a=b c|");
	CHECK_STR(keys("kcall:a"), "kprobe:a=a_entry|kretprobe:a=a_exit");
	CHECK_STR(keys("kcall:m:a"), "kprobe:m:a=a_entry|kretprobe:m:a=a_exit");
	CHECK_STR(keys("kcall:a as b with $retval:s32 as x, c->d,  +8($arg2):u8 as y"),
		  "kprobe:a=b_entry c->d, +8($arg2):u8 as y|kretprobe:a=b_exit $retval:s32 as x");
	CHECK_STR(keys("ucall:/x/y:z@V as b"), "uprobe:/x/y:z@V=b_entry|uretprobe:/x/y:z@V=b_exit");
	CHECK_STR(apply("kcall:a  as  b   with  c ,d if c == 1\n~kprobe:a as b\n!kprobe:a"),
		  "kcall:a as b with c, d if c == 1\n");
	CHECK_STR(apply("kcall:a as b\nkprobe:c\nkcall:a\n!kcall:a as b"), "kprobe:c\nkcall:a\n");
	CHECK_STR(apply("kcall:a+8") + 4, "7");
	CHECK_STR(apply("kcall:") + 4, "6");
	CHECK_STR(apply("kcall:a as") + 4, "10");
	CHECK_STR(apply("kcall:a as 1b") + 4, "11");
	CHECK_STR(apply("kcall:a as b as c") + 4, "13");
	CHECK_STR(apply("kcall:a with b as c as d") + 4, "20");
	CHECK_STR(apply("a as b") + 4, "2");
	CHECK_STR(apply("syscall:a as b") + 4, "10");
	CHECK_STR(apply("\"kprobe:a\vb\"") + 4, "0");
	CHECK(events_name_files("ucall:/a:b") && !events_name_files("kcall:b"));
}

/* The entry with the bytes that the call is given, and the exit. */
static void data(void)
{
	struct rule_list l = { 0 };

	CHECK_STR(keys("syscall:write with data"), "syscall:data:write|syscall:exit:write");
	CHECK_STR(keys("syscall:entry:write with data"), "syscall:data:write|");
	CHECK_STR(apply("syscall:write  with   data if fd == 1\nsyscall:write"),
		  "syscall:write with data if fd == 1\nsyscall:write\n");
	CHECK_STR(apply("syscall:write with data\n!syscall:write with data"), "");
	CHECK_STR(apply("syscall:write with fd") + 4, "14");
	CHECK_STR(apply("syscall:write with") + 4, "14");
	CHECK_STR(apply("syscall:wri* with data") + 4, "13");
	CHECK_STR(apply("syscall:exit:write with data") + 4, "19");
	CHECK_STR(apply("syscall:write with data with data") + 4, "24");
	CHECK_STR(apply("syscall:data:write") + 4, "8");
	CHECK(!rule_list_apply(NULL, DOMAIN_KERNEL, "syscall:*\n*\n", true, &l, NULL));
	CHECK(!rule_list_match(&l, EVENT_KEY("syscall:data:write"), 0));
	rule_list_deinit(&l);
	CHECK(!rule_list_apply(NULL, DOMAIN_KERNEL, "syscall:write with data\n", true, &l, NULL));
	CHECK(rule_list_match(&l, EVENT_KEY("syscall:data:write"), 0));
	CHECK(rule_list_match(&l, EVENT_KEY("syscall:exit:write"), 0));
	CHECK(!rule_list_match(&l, EVENT_KEY("syscall:entry:write"), 0));
	CHECK(!rule_list_match(&l, EVENT_KEY("syscall:data:writev"), 0));
	rule_list_deinit(&l);
}

/* Names of functions are decided on by the filter. */
static void functions(void)
{
	static const char *const texts[] = { "function:a*", "function:a* except function:ab",
					     "function:a* if ip > 1", "function:b*" };
	struct rule_list l[4] = { 0 };
	uint64_t seen[4];
	struct md_buf b = MD_BUF_INIT;

	for (size_t i = 0; i < 4; i++) {
		CHECK(rule_list_apply(NULL, DOMAIN_KERNEL, texts[i], true, &l[i], NULL) == 0);
		seen[i] = rule_list_decide(&l[i], EVENT_KEY(KRULE_FUNCTION), 0);
		CHECK(seen[i] > RULE_ALL);
		for (size_t j = 0; j < i; j++)
			CHECK(seen[i] != seen[j]);
	}
	filter_print(l[1].rules[0].filter, &b);
	CHECK_STR(md_buf_str(&b), "func == \"a*\" && func != \"ab\"");
	md_buf_reset(&b);
	filter_print(l[2].rules[0].filter, &b);
	CHECK_STR(md_buf_str(&b), "func == \"a*\" && (ip > 1)");
	md_buf_deinit(&b);
	for (size_t i = 0; i < 4; i++)
		rule_list_deinit(&l[i]);
}

static void files(void)
{
	CHECK(!events_name_files("") &&
	      !events_name_files(
		      "sched_switch\nkprobe:vfs_read\n\n# uprobe:/a:b\n!uprobe:/a:b\nfunction:x"));
	CHECK(!events_name_files("a if b == \"uprobe:/a:b\"\nuprobe:a:b\n\"uprobe:/a:b"));
	CHECK(events_name_files("uprobe:/a:b") && events_name_files("x\n ~ usdt:/a:b:c if d"));
	CHECK(events_name_files("\n\"\\x75probe:/a b:c\"\n"));
}

static void contexts(void)
{
	char want[64];

	CHECK_STR(apply("a if $ctx.cpu_id == 1 && b == \"$ctx.vuid\""),
		  "a if $ctx.cpu_id == 1 && b == \"$ctx.vuid\"\n");
	CHECK_STR(apply("a if $ctx.pid == $ctx.tid || $ctx.procname == \"x*\""),
		  "a if $ctx.pid == $ctx.tid || $ctx.procname == \"x*\"\n");
	snprintf(want, sizeof(want), "%d 15", -EOPNOTSUPP);
	CHECK_STR(apply("a if b && $ctx.vuid"), want);
	CHECK_STR(apply("a if b || $ctx.perf:cpu:cycles > 1"), want);
	snprintf(want, sizeof(want), "%d 10", -ENOENT);
	CHECK_STR(apply("a if $ctx.cpu_idx"), want);
	snprintf(want, sizeof(want), "%d 10", -EINVAL);
	CHECK_STR(apply("a if 1 || $app.a:b == 1"), want);
	CHECK_STR(apply("a if $ctx.procname == 1"), "-22 19");
}

static void excepted(void)
{
	struct rule_list l = { 0 };

	CHECK(rule_list_apply(NULL, DOMAIN_KERNEL,
			      "sched:* except sched_switch\nsyscall:* except syscall:exit:*\n",
			      true, &l, NULL) == 0);
	CHECK(rule_list_match(&l, EVENT_KEY("sched:sched_waking"), 0));
	CHECK(!rule_list_match(&l, EVENT_KEY("sched:sched_switch"), 0));
	CHECK(rule_list_match(&l, EVENT_KEY("syscall:entry:read"), 0));
	CHECK(!rule_list_match(&l, EVENT_KEY("syscall:exit:read"), 0));
	rule_list_deinit(&l);
}

int main(void)
{
	CASE(patterns);
	CASE(lists);
	CASE(calls);
	CASE(data);
	CASE(functions);
	CASE(files);
	CASE(contexts);
	CASE(excepted);
	return test_summary();
}
