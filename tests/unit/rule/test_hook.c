/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hooks: their table, the choice of what records them, rules @NAME. */
#include <errno.h>
#include <stdlib.h>

#include "tests/lib/test.h"
#include "tracer/base/rule/hook.h"
#include "tracer/base/rule/kernel_pattern.h"

static const char *const lines[][2] = {
	{ "disk.read", NULL },  { "group", "20" },      { "id", "5" },
	{ "fields", "n:INT64" },
	{ "entry", "blk:start blk:begin" },             { "entry", "kprobe:do_read" },
	{ "return", "kretprobe:do_read" },
	{ "disk.sync", NULL },  { "id", "7" },          { "record", "syscall:entry:sync" },
	{ "disk.old", NULL },   { "gone", "gone since 1.0" },
	{ "disk.data", NULL },
	{ "record", "kprobe:do_a kprobe:do_b with file->f_flags as flags, $arg2:s32 as n" },
	{ "record", "kprobe:do_c" },
};

static const char *kernel_has;  /* words */

static bool has(void *arg, const char *pattern)
{
	const char *at = strstr(kernel_has, pattern);

	(void)arg;
	return at && strchr(" ", at[strlen(pattern)]);
}

static void choose(const char *what)
{
	kernel_has = what;
	hooks_choose(has, NULL);
}

static void fill(struct hook_section *s)
{
	struct tr_err err = TR_ERR_INIT;
	const char *section = NULL;

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		section = lines[i][1] ? section : lines[i][0];
		CHECK(!hook_item(s, section, lines[i][1] ? lines[i][0] : NULL, lines[i][1], &err));
	}
}

static void choices(void)
{
	struct hook_section s = { .result = "INT8" };
	struct md_buf list = MD_BUF_INIT;
	const char *probe;
	size_t at = 0;

	fill(&s);
	CHECK(hooks_count() == 5);
	CHECK_STR(hook_at(0)->fields, "n:INT64");
	CHECK_STR(hook_at(1)->fields, "return:INT8");
	choose("blk:begin kprobe:do_read kretprobe:do_read");
	hooks_print(&list);
	CHECK_STR(md_buf_str(&list),
		  "disk.read.entry 20.5 blk:begin\ndisk.read.return 20.6 kretprobe:do_read\n"
		  "disk.sync 20.7 - this kernel does not have syscall:entry:sync\n"
		  "disk.old 20.0 - gone since 1.0\n"
		  "disk.data 20.0 - this kernel does not have kprobe:do_a, kprobe:do_b, "
		  "kprobe:do_c\n");
	md_buf_deinit(&list);
	CHECK(krule_match("@disk", "blk:begin"));
	CHECK(krule_match("@disk.read.entry", "blk:begin/other"));
	CHECK(krule_match("@*", "kretprobe:do_read"));
	CHECK(krule_match("@*.return", "kretprobe:do_read"));
	CHECK(!krule_match("@disk.read.return", "blk:begin"));
	CHECK(!krule_match("@disk", "kprobe:do_read"));
	CHECK(!krule_match("@disk", "blk:beginning"));
	CHECK(!krule_match("@dis", "blk:begin"));
	CHECK(!krule_match("*", "kretprobe:do_read"));
	probe = hook_next_probe("@disk", &at);
	CHECK_STR(probe ? probe : "", "kretprobe:do_read");
	CHECK(!hook_next_probe("@disk", &at));
	/* The next alternative; and none, where the kernel refuses the only one. */
	choose("kprobe:do_read kretprobe:do_read");
	CHECK(krule_match("@disk.read.entry", "kprobe:do_read"));
	hook_refuse("kprobe:do_read");
	CHECK(!krule_match("@disk.read.entry", "kprobe:do_read"));
	CHECK(krule_match("@disk", "kretprobe:do_read"));
}

/* Probes with extra data; if the kernel has no such data, others; at last without. */
static void extra_data(void)
{
	static const char data[] = "\tfile->f_flags as flags, $arg2:s32 as n";
	struct md_buf list = MD_BUF_INIT;
	char a[100], b[100];
	const char *probe;
	size_t at = 0;

	snprintf(a, sizeof(a), "kprobe:do_a%s", data);
	snprintf(b, sizeof(b), "kprobe:do_b%s", data);
	choose("kprobe:do_a kprobe:do_b kprobe:do_c");
	hooks_print(&list);
	CHECK(strstr(md_buf_str(&list), "disk.data 20.0 kprobe:do_a kprobe:do_b with "
					"file->f_flags as flags, $arg2:s32 as n\n"));
	md_buf_deinit(&list);
	probe = hook_next_probe("@disk.data", &at);
	CHECK_STR(probe ? probe : "", a);
	probe = hook_next_probe("@disk.data", &at);
	CHECK_STR(probe ? probe : "", b);
	CHECK(!hook_next_probe("@disk.data", &at));
	CHECK(krule_match("@disk.data", a) && !krule_match("@disk.data", "kprobe:do_a"));
	hook_refuse(a);
	CHECK(!krule_match("@disk.data", a) && krule_match("@disk.data", b));
	hook_refuse(b);
	CHECK(krule_match("@disk.data", "kprobe:do_c"));
	hook_refuse("kprobe:do_c");
	CHECK(krule_match("@disk.data", "kprobe:do_a") && krule_match("@disk.data", "kprobe:do_b"));
}

static void mistakes(void)
{
	static const char *const wrong[][3] = {
		{ "a b", NULL, "letters" },             { "x", "record", "uprobe:/a:b" },
		{ "x", "record", "@disk" },             { "x", "id", "256" },
		{ "x", "record", "kprobe:" },           { "x", "what", "1" },
		{ "x", "record", "a:b with c" },        { "x", "record", "kprobe:a with b-c" },
		{ "x", "record", "kprobe:a with " },
	};
	struct tr_err err = TR_ERR_INIT;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct hook_section s = { .name = "x" };

		CHECK(hook_item(&s, wrong[i][0], wrong[i][1], wrong[i][2], &err) == -EINVAL);
		CHECK(*err.sentence);
	}
	CHECK(hook_explain("@disk.raed", "@disk.raed", &err) == -ENOENT);
	CHECK(strstr(err.sentence, "did you mean 'disk.read'?"));
	CHECK(hook_explain("@disk.old", "@disk.old", &err) == -ENOENT);
	CHECK(strstr(err.sentence, "gone since 1.0"));
}

int main(void)
{
	CASE(choices);
	CASE(extra_data);
	CASE(mistakes);
	hooks_free();
	CHECK(hooks_count() == 0);
	return test_summary();
}
