/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hooks: their table, the choice of what records them, rules @NAME. */
#include <errno.h>
#include <stdlib.h>

#include "tests/lib/event_key.h"
#include "tests/lib/test.h"
#include "tracer/base/rows.h"
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

static bool matches(const char *pattern, const char *key)
{
	struct event_key *k = key_of(key);
	bool is = krule_match(EVENT_KEY(pattern), k);

	key_free(k);
	return is;
}

static void refuse(const char *key)
{
	struct event_key *k = key_of(key);

	hook_refuse(k);
	key_free(k);
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
	const struct event_key *probe;
	size_t at = 0;

	fill(&s);
	CHECK(hooks_count() == 5);
	CHECK_STR(hook_at(0)->fields, "n:INT64");
	CHECK_STR(hook_at(1)->fields, "return:INT8");
	choose("blk:begin kprobe:do_read kretprobe:do_read");
	hooks_print(&(struct rows){ .out = &list });
	CHECK_STR(md_buf_str(&list),
		  "disk.read.entry 20.5 blk:begin\ndisk.read.return 20.6 kretprobe:do_read\n"
		  "disk.sync 20.7 - this kernel does not have syscall:entry:sync\n"
		  "disk.old 20.0 - gone since 1.0\n"
		  "disk.data 20.0 - this kernel does not have kprobe:do_a, kprobe:do_b, "
		  "kprobe:do_c\n");
	md_buf_deinit(&list);
	CHECK(matches("@disk", "blk:begin"));
	CHECK(matches("@disk.read.entry", "blk:begin/other"));
	CHECK(matches("@*", "kretprobe:do_read"));
	CHECK(matches("@*.return", "kretprobe:do_read"));
	CHECK(!matches("@disk.read.return", "blk:begin"));
	CHECK(!matches("@disk", "kprobe:do_read"));
	CHECK(!matches("@disk", "blk:beginning"));
	CHECK(!matches("@dis", "blk:begin"));
	CHECK(!matches("*", "kretprobe:do_read"));
	probe = hook_next_probe("@disk", &at);
	CHECK_STR(probe ? key_text(probe) : "", "kretprobe:do_read");
	CHECK(!hook_next_probe("@disk", &at));
	/* The next alternative; and none, where the kernel refuses the only one. */
	choose("kprobe:do_read kretprobe:do_read");
	CHECK(matches("@disk.read.entry", "kprobe:do_read"));
	refuse("kprobe:do_read");
	CHECK(!matches("@disk.read.entry", "kprobe:do_read"));
	CHECK(matches("@disk", "kretprobe:do_read"));
}

/* Probes with extra data; if the kernel has no such data, others; at last without. */
static void extra_data(void)
{
	static const char data[] = "\tfile->f_flags as flags, $arg2:s32 as n";
	struct md_buf list = MD_BUF_INIT;
	char a[100], b[100];
	const struct event_key *probe;
	size_t at = 0;

	snprintf(a, sizeof(a), "kprobe:do_a%s", data);
	snprintf(b, sizeof(b), "kprobe:do_b%s", data);
	choose("kprobe:do_a kprobe:do_b kprobe:do_c");
	hooks_print(&(struct rows){ .out = &list });
	CHECK(strstr(md_buf_str(&list), "disk.data 20.0 kprobe:do_a kprobe:do_b with "
					"file->f_flags as flags, $arg2:s32 as n\n"));
	md_buf_deinit(&list);
	probe = hook_next_probe("@disk.data", &at);
	CHECK_STR(probe ? key_text(probe) : "", a);
	probe = hook_next_probe("@disk.data", &at);
	CHECK_STR(probe ? key_text(probe) : "", b);
	CHECK(!hook_next_probe("@disk.data", &at));
	CHECK(matches("@disk.data", a) && !matches("@disk.data", "kprobe:do_a"));
	refuse(a);
	CHECK(!matches("@disk.data", a) && matches("@disk.data", b));
	refuse(b);
	CHECK(matches("@disk.data", "kprobe:do_c"));
	refuse("kprobe:do_c");
	CHECK(matches("@disk.data", "kprobe:do_a") && matches("@disk.data", "kprobe:do_b"));
}

static const struct hook *find_hook(const char *name)
{
	for (size_t i = 0; i < hooks_count(); i++)
		if (!strcmp(hook_at(i)->name, name))
			return hook_at(i);
	return NULL;
}

/* `as`: what fills LKET's fields, for each alternative. */
static void sources(void)
{
	static const struct {
		const char *field, *name;
		enum hook_value value;
		uint64_t number;
		int first, last;
	} want[] = {
		{ "tid", "pid", HOOK_FIELD, 0, 0, 0 },
		{ "pid", "tgid", HOOK_NEGATIVE, 0, 0, 0 },
		{ "major", "dev", HOOK_MAJOR, 0, 1, 2 },
		{ "minor", "dev", HOOK_MINOR, 0, 1, 2 },
		{ "write", "code", HOOK_BITS, 0xf0, 1, 2 },
		{ "tid", NULL, HOOK_NAME, 0, 1, 2 },
		{ "ip", "a", HOOK_IP, 0, 3, 3 },
		{ "pid", NULL, HOOK_PPID, 0, 3, 3 },
		{ "port", NULL, HOOK_NUMBER, 7, 3, 3 },
		{ "major", "b", HOOK_PORT, 0, 3, 3 },
	};
	struct hook_section s = { .name = "as" };
	struct tr_err err = TR_ERR_INIT;
	const struct hook *h;

	CHECK(!hook_item(&s, "as", "fields", "tid:INT32 pid:INT32 major:INT8 minor:INT8 "
			 "write:INT8 ip:INT32 port:INT16", &err));
	CHECK(!hook_item(&s, "as", "record", "syscall:entry:tgkill as tid=pid, pid=-tgid", &err));
	CHECK(!hook_item(&s, "as", "record", "kprobe:do_b with $arg1:s32 as tid, $arg2 as dev as "
			 "major=major(dev), minor=minor(dev),write=code&0xf0, tid=$name", &err));
	CHECK(!hook_item(&s, "as", "record", "a:b as ip=ip(a), pid=$ppid, port=7, major=port(b)",
			 &err));
	CHECK(!hook_item(&s, "as", "record", "kprobe:c with $arg1:s32 as n and kprobe:d kprobe:e "
			 "with $arg2:s32 as n as pid=n", &err));
	h = find_hook("as");
	CHECK(h && h->count == 10 && h->source_count == 11);
	for (int i = 4; h && i < 10; i++) {
		CHECK(h->patterns[i].way == (i < 7 ? 4 : 5) && h->patterns[i].bare == (i >= 7));
		CHECK(!h->patterns[i].key.extra.count == (i >= 7));
	}
	CHECK(h && strstr(key_text(&h->patterns[4].key), "c\t$arg1"));
	CHECK(h && strstr(key_text(&h->patterns[6].key), "e\t$arg2"));
	CHECK(h && h->sources[10].first == 4 && h->sources[10].last == 5);
	CHECK(h && h->patterns[3].way == 3);
	for (size_t i = 0; h && i < sizeof(want) / sizeof(want[0]); i++) {
		const struct hook_source *is = &h->sources[i];

		CHECK_STR(is->field, want[i].field);
		CHECK_STR(is->name ? is->name : "", want[i].name ? want[i].name : "");
		CHECK(is->value == want[i].value && is->first == want[i].first &&
		      is->last == want[i].last);
		CHECK(is->value == HOOK_FIELD || is->number == want[i].number);
	}
	CHECK(h && !strcmp(key_text(&h->patterns[1].key),
			   "kprobe:do_b\t$arg1:s32 as tid, $arg2 as dev"));
}

static void mistakes(void)
{
	static const char *const wrong[][3] = {
		{ "a b", NULL, "letters" },             { "x", "record", "uprobe:/a:b" },
		{ "x", "record", "@disk" },             { "x", "id", "256" },
		{ "x", "record", "kprobe:" },           { "x", "what", "1" },
		{ "x", "record", "a:b with c" },        { "x", "record", "kprobe:a with b-c" },
		{ "x", "record", "kprobe:a with " },    { "x", "record", "a:b as none=c" },
		{ "x", "record", "a:b as f=" },         { "x", "record", "a:b as f=1x" },
		{ "x", "record", "a:b as f=c&0" },      { "x", "record", "a:b as f=c d=e" },
		{ "x", "record", "a:b as f=major(c" },  { "x", "record", "a:b as f=$what" },
		{ "x", "record", "a:b as f=c," },       { "x", "record", "a:b as f=-c&1" },
	};
	struct tr_err err = TR_ERR_INIT;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct hook_section s = { .name = "x", .fields = "f:INT8" };

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
	CASE(sources);
	CASE(mistakes);
	hooks_free();
	CHECK(hooks_count() == 0);
	return test_summary();
}
