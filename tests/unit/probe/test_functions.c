/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/* Rules on several functions of a file: which events they mean, and their definitions. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "tests/lib/event_key.h"
#include "tests/lib/test.h"
#include "tracer/base/probe/probe.h"

__attribute__((noinline)) int functions_target(int x);
__attribute__((noinline)) int functions_target(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

static bool matches(const char *pattern, const char *key)
{
	struct event_key *p = key_of(pattern), *k = key_of(key);
	bool is = dynamic_event_match(p, k);

	key_free(p);
	key_free(k);
	return is;
}

/* Rules on several functions: the events that they mean. */
static void patterns(void)
{
	static const struct {
		const char *pattern, *key;
		bool match;
	} t[] = {
		{ "uprobe:/a:f*", "uprobe:/a:f1", true },
		{ "uprobe:/a:f*", "uprobe:/a:f*", true },
		{ "uprobe:/a:f1", "uprobe:/a:f1", true },
		{ "uprobe:/a:f1", "uprobe:/a:f*", false },
		{ "uprobe:/a:f*", "uprobe:/a:g1", false },
		{ "uprobe:/a:f*", "uprobe:/b:f1", false },
		{ "uprobe:/a:f*", "uretprobe:/a:f1", false },
		{ "uprobe:/a*:f", "uprobe:/ab:f", false },
		{ "uprobe:/a*:f*", "uprobe:/a*:f1", true },
		{ "usdt:/a:p:f*", "usdt:/a:p:f1", false },
		{ "kprobe:f*", "kprobe:f1", false },
		{ "uprobe:/a:f*\t$arg1", "uprobe:/a:f1\t$arg1", true },
		{ "uprobe:/a:f*\t$arg1", "uprobe:/a:f1", false },
		{ "uprobe:/a:f*", "uprobe:/a:f1\t$arg1", false },
		{ "uprobe:/a:f*", "uprobe:/a:f1\vmine", false },
		{ "uprobe:/a:f*", "uprobe:/a:f1\vuprobe:/a:f1_12ab", true },
		{ "uprobe:/a:f*", "uprobe:/a:f1\vuprobe:/a:f1_", false },
		{ "uprobe:/a:f*", "uprobe:/a:f1\vuprobe:/a:f1_12abx", false },
		{ "uprobe:/a:f*", "uprobe:/a:f1\vuprobe:/a:f2_12ab", false },
		{ "uprobe:/a:f*\v*_entry", "uprobe:/a:f1\vf1_entry", true },
		{ "uprobe:/a:f*\v*_entry", "uprobe:/a:f1\vf1_12ab_entry", true },
		{ "uprobe:/a:f*\v*_entry", "uprobe:/a:f1\vf1_exit", false },
		{ "uprobe:/a:f*\v*_entry", "uprobe:/a:f1", false },
		{ "uprobe:/a:f*\v*_entry\t$arg1", "uprobe:/a:f1\vf1_entry\t$arg1", true },
	};
	struct tr_err err = TR_ERR_INIT;
	struct dynamic_event d;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		CHECK(matches(t[i].pattern, t[i].key) == t[i].match);
		if (matches(t[i].pattern, t[i].key) != t[i].match)
			printf("# row %zu\n", i);
	}
	CHECK(dynamic_event_is_pattern("ucall:/a:f*"));
	CHECK(dynamic_event_is_pattern("uprobe:/a:*"));
	CHECK(!dynamic_event_is_pattern("uprobe:/a*:f") && !dynamic_event_is_pattern("sched:*"));
	CHECK(!dynamic_event_is_pattern("kcall:f*"));
	CHECK(!event_of("uretprobe:/a:f*", &d, NULL));
	CHECK_STR(d.symbol, "f*");
	dynamic_event_deinit(&d);
	CHECK(event_of("kprobe:f*", &d, &err) == -EINVAL && err.column == 8 &&
	      strstr(err.sentence, "function:NAME"));
	CHECK(event_of("uprobe:/a:f*+4", &d, &err) == -EINVAL && err.column == 12);
	CHECK(event_of("uprobe:/a:f*@V1", &d, &err) == -EINVAL && err.column == 12);
}

/* The events of a rule on several functions of this program. */
static void expand(void)
{
	struct dynamic_events all;
	struct dynamic_event d;
	struct md_buf b = MD_BUF_INIT;
	struct tr_err err = TR_ERR_INIT;
	const char *rule = "uprobe:/proc/self/exe:functions_targ*\v*_entry\t%di:s32 as x";
	struct event_key *key = key_of(rule);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

#ifndef __x86_64__
	SKIP("the registers are those of x86-64");
#endif
	CHECK(!event_of(rule, &d, &err));
	d.fd = fd;
	CHECK(!dynamic_events_resolve(&d, key, NULL, &all, &err) && all.count == 1 && d.fd == -1);
	CHECK_STR(key_text(&all.list[0].key),
		  "uprobe:/proc/self/exe:functions_target\vfunctions_target_entry\t%di:s32 as x");
	CHECK(dynamic_event_match(key, &all.list[0].key));
	key_free(key);
	CHECK(!dynamic_event_define(&all.list[0].event, 0, "g", "e", &b, &err) &&
	      strstr(md_buf_str(&b), " x=%di:s32\n"));
	dynamic_events_deinit(&all);
	CHECK(!event_of("uprobe:/x:functions_t*x", &d, &err));
	d.fd = fd;
	CHECK(dynamic_events_resolve(&d, EVENT_KEY("uprobe:/x:functions_t*x"), NULL, &all, &err) ==
		      -ENOENT &&
	      !all.list && !all.count && err.sentence[0]);
	close(fd);
	md_buf_deinit(&b);
}

int main(void)
{
	CASE(patterns);
	CASE(expand);
	return test_summary();
}
