/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdint.h>

#include "tests/lib/test.h"
#include "tracer/base/base.h"
#include "tracer/base/search.h"
#include "tracer/base/rule/rule.h"

#define BAD UINT64_MAX

static uint64_t size(const char *text)
{
	uint64_t n = 12345;
	struct tr_err err = TR_ERR_INIT;
	int ret = units_size(text, &n, &err);

	CHECK(ret ? ret == -EINVAL && n == 12345 && err.sentence[0] : !err.sentence[0]);
	return ret ? BAD : n;
}

static uint64_t microseconds(const char *text)
{
	uint64_t n = 12345;

	return units_time(text, &n, NULL) ? 777 : n;
}

static void sizes(void)
{
	CHECK(size("0") == 0);
	CHECK(size("4096\n") == 4096);
	CHECK(size(" 4096 ") == 4096);
	CHECK(size("512k") == 524288 && size("512K") == 524288);
	CHECK(size("4M") == 4194304);
	CHECK(size("1G") == 1073741824);
	CHECK(size("1T") == UINT64_C(1) << 40);
	CHECK(size("18446744073709551614") == UINT64_MAX - 1);
	CHECK(size("18446744073709551615") == BAD);
	CHECK(size("18446744073709551616") == BAD);
	CHECK(size("16777216T") == BAD &&
	      size("16777215T") == UINT64_MAX - (UINT64_C(1) << 40) + 1);
	CHECK(size("") == BAD && size("\n") == BAD && size("k") == BAD && size("-1") == BAD &&
	      size("+1") == BAD);
	CHECK(size("4 M") == BAD && size("4MM") == BAD && size("1.5M") == BAD &&
	      size("0x10") == BAD && size("inf") == BAD);
	CHECK(size("4\n4") == BAD && size("4m") == BAD);
}

static void counts(void)
{
	struct tr_err err = TR_ERR_INIT;
	uint64_t n = 0;

	CHECK(!units_count("8\n", &n, &err) && n == 8);
	CHECK(units_count("many", &n, &err) == -EINVAL && n == 8);
	CHECK_STR(err.sentence, "no number: write a whole number, as in 8");
	CHECK(units_size("1.5M", &n, &err) == -EINVAL && n == 8);
	CHECK_STR(err.sentence, "not a whole number: bytes, or with k, M, G or T, as in 512k");
}

static void times(void)
{
	CHECK(microseconds("0") == 0);
	CHECK(microseconds("250") == 250);
	CHECK(microseconds("250us") == 250);
	CHECK(microseconds("100ms") == 100000);
	CHECK(microseconds("2s\n") == 2000000);
	CHECK(microseconds("5m") == 300000000);
	CHECK(microseconds("1h") == 3600000000u);
	CHECK(microseconds("inf") == UINT64_MAX);
	CHECK(microseconds(" inf\n") == UINT64_MAX);
	CHECK(microseconds("infinite") == 777 && microseconds("1S") == 777 &&
	      microseconds("s") == 777);
	CHECK(microseconds("99999999999999999999") == 777 && microseconds("6000000000000h") == 777);
}

static void names(void)
{
	struct tr_err err = TR_ERR_INIT;
	char text[202];

	CHECK(!name_check("web", 200, &err) && !name_check("_a.b:c@d+e-f", 200, &err) &&
	      !name_check("0", 1, &err));
	CHECK(name_check("", 200, &err) == -EINVAL);
	CHECK(name_check(".", 200, &err) == -EINVAL && name_check("..", 200, &err) == -EINVAL);
	CHECK(name_check("-x", 200, &err) == -EINVAL && name_check("a/b", 200, &err) == -EINVAL);
	CHECK(name_check("a b", 200, &err) == -EINVAL && err.column == 1);
	CHECK(name_check("a\n", 200, &err) == -EINVAL &&
	      name_check("\xc3\xbc", 200, &err) == -EINVAL);
	memset(text, 'x', 201);
	text[201] = '\0';
	CHECK(name_check(text, 200, &err) == -ENAMETOOLONG);
	text[200] = '\0';
	CHECK(!name_check(text, 200, &err));
	CHECK(name_check("a*", 200, NULL) == -EINVAL);
}

static void errors(void)
{
	struct tr_err err = { .sentence = "old", .text = "old", .column = 3, .line = 7 };
	char line[2000];

	CHECK(tr_fail(&err, -EBUSY, "a %s\n\x1b[31m\xff \xc3\xbc \xc2\x9b", "b") == -EBUSY);
	CHECK_STR(err.sentence, "a b??[31m? \xc3\xbc ??");
	CHECK(!err.text[0] && err.column == -1 && err.line == 7);
	CHECK(tr_fail(NULL, -EIO, "x") == -EIO && tr_fail_at(NULL, -EIO, "x", 0, "y") == -EIO);
	CHECK(tr_fail_at(&err, -EINVAL, "one\ttwo\nthree", 4, "here") == -EINVAL);
	CHECK_STR(err.text, "one?two");
	CHECK(err.column == 4);
	tr_fail_at(&err, -EINVAL, "abc", 4, "after the end");
	CHECK(err.column == -1);
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	line[1990] = 'Y';
	tr_fail_at(&err, -EINVAL, line, 1990, "%s", line);
	CHECK(err.text[err.column] == 'Y' && strlen(err.text) == sizeof(err.text) - 1);
	CHECK(strlen(err.sentence) == sizeof(err.sentence) - 1);
	line[600] = 'Y';
	tr_fail_at(&err, -EINVAL, line, 600, "z");
	CHECK(err.text[err.column] == 'Y');
	line[20] = 'Y';
	tr_fail_at(&err, -EINVAL, line, 20, "z");
	CHECK(err.text[20] == 'Y' && err.column == 20);
}

static void near_words(void)
{
	static const char *const verbs[] = { "start",  "stop",     "clear",
					     "rotate", "snapshot", "regenerate" };
	char longest[100];

#define NEAREST(word) nearest(word, strlen(word), verbs, 6)
#define NEAR(word) (NEAREST(word) ? NEAREST(word) : "-")
	CHECK_STR(NEAR("strat"), "start");
	CHECK_STR(NEAR("STOP"), "stop");
	CHECK_STR(NEAR("claer"), "clear");
	CHECK_STR(NEAR("snap"), "snapshot");
	CHECK_STR(NEAR("x"), "-");
	CHECK_STR(NEAR(""), "-");
	CHECK_STR(NEAR("banana"), "-");
	memset(longest, 's', 99);
	longest[99] = '\0';
	CHECK_STR(NEAR(longest), "-");
}

static void sorted_arrays(void)
{
	static const struct { uint64_t key; char other; } all[] = {
		{ 0, 'a' }, { 7, 'b' }, { 7, 'c' }, { 9, 'd' }, { UINT64_MAX, 'e' },
	};
#define ABOVE(count, key) search_above(all, count, sizeof(all[0]), key)
	CHECK(ABOVE(0, 7) == 0);
	CHECK(ABOVE(5, 0) == 1 && ABOVE(5, 6) == 1 && ABOVE(5, 7) == 3 && ABOVE(5, 8) == 3);
	CHECK(ABOVE(5, UINT64_MAX - 1) == 4 && ABOVE(5, UINT64_MAX) == 5);
	CHECK(search_above(all + 1, 4, sizeof(all[0]), 6) == 0);
}

int main(void)
{
	CASE(sizes);
	CASE(counts);
	CASE(times);
	CASE(names);
	CASE(errors);
	CASE(near_words);
	CASE(sorted_arrays);
	return test_summary();
}
