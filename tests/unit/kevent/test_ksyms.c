/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of addresses of the kernel, from a file like /proc/kallsyms. */
#include <stdlib.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "tracer/kernel/kevent/kevent.h"

static char path[256];

static void put(const char *text)
{
	FILE *f = fopen(path, "w");

	CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void finds(void)
{
	struct ksyms *s;

	put("0000000000000000 A fixed_percpu_data\nffffffff81000400 t third\nffffffff81000100 T "
	    "first\nffffffff81000200 t second\n"
	    "ffffffff81000200 T second_too\nffffffff81000250 D "
	    "data\nnonsense\nffffffff81000300\n\nffffffffc0000000 t in_module\t[mod]\n");
	CHECK(ksyms_readable(path));
	s = ksyms_load(path);
	CHECK(s);
	CHECK_STR(ksyms_find(s, 0xffffffff810000ff), "");
	CHECK_STR(ksyms_find(s, 0xffffffff81000100), "first");
	CHECK_STR(ksyms_find(s, 0xffffffff810001ff), "first");
	CHECK_STR(ksyms_find(s, 0xffffffff81000200), "second");
	CHECK_STR(ksyms_find(s, 0xffffffff810003ff), "second");
	CHECK_STR(ksyms_find(s, 0xffffffff81000404), "third");
	CHECK_STR(ksyms_find(s, 0xffffffffa0000000), "");
	CHECK_STR(ksyms_find(s, 0xffffffffc0000004), "in_module");
	CHECK_STR(ksyms_find(s, 0), "");
	CHECK_STR(ksyms_first(s, "second_too"), "second");
	CHECK_STR(ksyms_first(s, "third"), "third");
	CHECK(!ksyms_first(s, "data"));
	ksyms_free(s);
	ksyms_free(NULL);
}

static void hidden(void)
{
	put("0000000000000000 T first\n0000000000000000 T second\n");
	CHECK(!ksyms_readable(path) && !ksyms_load(path));
	put("");
	CHECK(!ksyms_readable(path) && !ksyms_load(path));
	unlink(path);
	CHECK(!ksyms_readable(path) && !ksyms_load(path));
}

int main(void)
{
	snprintf(path, sizeof(path), "%s/ksyms.%d", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
		 (int)getpid());
	CASE(finds);
	CASE(hidden);
	return test_summary();
}
