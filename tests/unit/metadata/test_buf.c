/* SPDX-License-Identifier: MIT */
#include <stdint.h>

#include "metadata/buf.h"
#include "tests/lib/test.h"

static void puts_and_prints(void)
{
	struct md_buf b = MD_BUF_INIT;
	char long_text[1000];
	int i;

	CHECK_STR(md_buf_str(&b), "");
	md_buf_puts(&b, "ab");
	md_buf_putc(&b, 'c');
	md_buf_put(&b, "", 0);
	md_buf_printf(&b, "%d %s", 42, "x");
	CHECK_STR(md_buf_str(&b), "abc42 x");
	CHECK(b.len == 7);
	memset(long_text, 'y', sizeof(long_text));
	for (i = 0; i < 100; i++)
		md_buf_printf(&b, "%.*s", (int)sizeof(long_text), long_text);
	CHECK(b.len == 7 + 100 * sizeof(long_text) && !b.failed);
	CHECK(b.data[b.len - 1] == 'y');
	md_buf_reset(&b);
	CHECK_STR(md_buf_str(&b), "");
	CHECK(b.size > 100000);
	md_buf_deinit(&b);
	CHECK(!b.data && !b.size);
}

static void room_is_kept(void)
{
	struct md_buf b = MD_BUF_INIT;
	char *p = md_buf_room(&b, 5000);

	CHECK(p == b.data && b.len == 0 && b.size >= 5000);
	memset(p, 'z', 5000);
	b.len = 5000;
	CHECK(md_buf_room(&b, 100) == b.data + 5000);
	md_buf_deinit(&b);
}

static void too_much_fails_for_good(void)
{
	struct md_buf b = MD_BUF_INIT;

	md_buf_puts(&b, "kept");
	CHECK(!md_buf_room(&b, SIZE_MAX - 2));
	CHECK(b.failed);
	md_buf_puts(&b, "more");
	CHECK(b.len == 4);
	CHECK_STR(md_buf_str(&b), "");
	md_buf_reset(&b);
	md_buf_puts(&b, "again");
	CHECK_STR(md_buf_str(&b), "again");
	md_buf_deinit(&b);
}

static void escape_of(const char *s, size_t n, const char *want)
{
	struct md_buf b = MD_BUF_INIT;

	md_buf_escape(&b, s, n);
	CHECK_STR(md_buf_str(&b), want);
	md_buf_deinit(&b);
}

static void escapes(void)
{
	escape_of("plain 'text'?", 13, "plain 'text'?");
	escape_of("\"\\\n\t\a\b\f\r\v", 9, "\\\"\\\\\\n\\t\\a\\b\\f\\r\\v");
	escape_of("\0" "1\x7f\x1b", 4, "\\0001\\177\\033");
	escape_of("caf\xc3\xa9 \xf0\x9f\x98\x80", 10, "caf\xc3\xa9 \xf0\x9f\x98\x80");
	/* Cut, overlong, surrogate, beyond U+10FFFF, a lone follower. */
	escape_of("\xc3", 1, "\\303");
	escape_of("\xc0\xaf", 2, "\\300\\257");
	escape_of("\xed\xa0\x80", 3, "\\355\\240\\200");
	escape_of("\xf4\x90\x80\x80", 4, "\\364\\220\\200\\200");
	escape_of("a\x80", 2, "a\\200");
}

int main(void)
{
	CASE(puts_and_prints);
	CASE(room_is_kept);
	CASE(too_much_fails_for_good);
	CASE(escapes);
	return test_summary();
}
