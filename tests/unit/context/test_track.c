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
	CHECK_STR(apply("*", "/b /a /b", false, TRACK_CGROUP), "/a /b ");
	CHECK_STR(apply("/a /b", "!/a \"/c d\"", false, TRACK_KERNEL_CGROUP), "/b \"/c d\" ");
	CHECK_STR(apply("/a", "*", false, TRACK_CGROUP), "* ");
	CHECK_STR(apply("/a", "/sys/fs/cgroup/x/ /sys/fs/cgroup //", true, TRACK_CGROUP), "/ /x ");
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
	CHECK_STR(apply("/a", "!/b", false, TRACK_CGROUP), "-2 1 0");
	CHECK_STR(apply("/a", "/c b", false, TRACK_CGROUP), "-22 1 3");
	CHECK_STR(apply("/a", "\"\"", false, TRACK_CGROUP), "-22 1 0");
}

static bool has_cgroup(const char *set, const char *cgroups)
{
	struct track none = { 0 }, t;
	bool in;

	CHECK(!track_apply(&none, TRACK_CGROUP, set, true, &t, NULL));
	in = track_has_cgroup(&t, cgroups);
	track_deinit(&t);
	return in;
}

static const char *path_of(const char *cgroups)
{
	static char path[64];
	size_t len = 0;
	const char *at = track_cgroup_path(cgroups, &len);

	snprintf(path, sizeof(path), "%.*s", (int)len, at ? at : "none");
	return at ? path : "none";
}

static void cgroups(void)
{
	const char *text = "4:memory:/docker/ab\n1:name=systemd:/\n0::/a.slice/b c";

	CHECK(has_cgroup("*", text));
	CHECK(has_cgroup("*", ""));
	CHECK(!has_cgroup("", text));
	CHECK(has_cgroup("/", text));
	CHECK(!has_cgroup("/", ""));
	CHECK(has_cgroup("/a.slice", text));
	CHECK(has_cgroup("\"/a.slice/b c\"", text));
	CHECK(has_cgroup("/x /docker/ab", text));
	CHECK(!has_cgroup("/a.slice/b", text));
	CHECK(!has_cgroup("/docker/a /docker/abc /a.slic", text));
	CHECK(!has_cgroup("/a", "nonsense\n::\n:\n/a\n0:/a\n"));
	CHECK_STR(path_of(text), "/a.slice/b c");
	CHECK_STR(path_of("4:memory:/a/longer/path\n0::/b\n1:cpu:/c\n"), "/b");
	CHECK_STR(path_of("2:cpu:/first\n1:name=systemd:/other\n0::/\n"), "/first");
	CHECK_STR(path_of("0::/\n"), "/");
	CHECK_STR(path_of("nonsense\n:\n0:/a\n"), "none");
	CHECK_STR(path_of(""), "none");
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
	CASE(cgroups);
	return test_summary();
}
