/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "tests/lib/test.h"
#include "tracer/base/context/inclusion_set.h"
#include "tracer/face/tracer.h"

/* What a set reads like after one write to it; an error as `errno line column`. */
static const char *apply(const char *before, const char *text, bool replace, int attr)
{
	static char out[1000];
	struct track old = { 0 }, new = { 0 };
	struct md_buf b = MD_BUF_INIT;
	struct tr_err err = TR_ERR_INIT;
	int ret = track_apply(&old, attr, before, true, &old, NULL);

	CHECK(!ret);
	ret = track_apply(&old, attr, text, replace, &new, &err);
	track_print(&new, &b, ' ');
	if (ret)
		snprintf(out, sizeof(out), "%d %d %d", ret, err.line, err.column);
	else
		snprintf(out, sizeof(out), "%s", md_buf_str(&b));
	md_buf_deinit(&b);
	track_deinit(&old);
	track_deinit(&new);
	return out;
}

static void sets(void)
{
	CHECK_STR(apply("*", "", false, TRACK_VPID), "* ");
	CHECK_STR(apply("*", "", true, TRACK_VPID), "");
	CHECK_STR(apply("*", "7", false, TRACK_VPID), "7 ");
	CHECK_STR(apply("", "7 5\n6 7", false, TRACK_VPID), "5 6 7 ");
	CHECK_STR(apply("5 6 7", "1", true, TRACK_VPID), "1 ");
	CHECK_STR(apply("5 6 7", "!6 9", false, TRACK_VPID), "5 7 9 ");
	CHECK_STR(apply("5", "!5", false, TRACK_VPID), "");
	CHECK_STR(apply("5", "*", false, TRACK_VPID), "* ");
	CHECK_STR(apply("*", "!*", false, TRACK_VPID), "");
	CHECK_STR(apply("*", "root 4294967294", true, TRACK_VUID), "0 4294967294 ");
	CHECK_STR(apply("0 1", "!root", false, TRACK_VGID), "1 ");
	CHECK_STR(apply("1", "# 2\n2147483647", true, TRACK_VPID), "2147483647 ");
}

static void mistakes(void)
{
	CHECK_STR(apply("*", "!5", false, TRACK_VPID), "-2 1 0");
	CHECK_STR(apply("4", "3\n  !5", false, TRACK_VPID), "-2 2 2");
	CHECK_STR(apply("4", "!*", false, TRACK_VPID), "-2 1 0");
	CHECK_STR(apply("4", "root", false, TRACK_VPID), "-22 1 0");
	CHECK_STR(apply("4", "0", false, TRACK_VPID), "-22 1 0");
	CHECK_STR(apply("4", "5x", false, TRACK_VUID), "-22 1 0");
	CHECK_STR(apply("4", "4294967296", false, TRACK_VUID), "-22 1 0");
	CHECK_STR(apply("4", "2147483648", false, TRACK_VPID), "-22 1 0");
	CHECK_STR(apply("4", "5 no-such-user-here", false, TRACK_VUID), "-2 1 2");
	CHECK_STR(apply("4", "99999999999999999999999", false, TRACK_VGID), "-22 1 0");
}

static void has(void)
{
	struct track t = { 0 };

	CHECK(track_has(&t, 5));
	CHECK(track_apply(&t, TRACK_VPID, "9 3 5", true, &t, NULL) == 0);
	CHECK(track_has(&t, 3) && track_has(&t, 5) && track_has(&t, 9));
	CHECK(!track_has(&t, 0) && !track_has(&t, 4) && !track_has(&t, 10));
	track_deinit(&t);
}

int main(void)
{
	CASE(sets);
	CASE(mistakes);
	CASE(has);
	return test_summary();
}
