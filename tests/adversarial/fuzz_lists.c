/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * Lists of contexts and inclusion sets from random words and bytes. What is accepted must read back
 * as it prints; what is refused must be explained and change nothing. Deterministic: fuzz_lists
 * SECONDS ROUND begins at a round.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tracer/abi/app.h"
#include "tracer/base/context/context.h"
#include "tracer/base/context/inclusion_set.h"
#include "tracer/face/tracer.h"

static uint64_t seed, round_now;

static uint32_t below(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % n);
}

static void fail(const char *what, const char *lines)
{
	printf("not ok - round %llu: %s\n%s\n", (unsigned long long)round_now, what, lines);
	exit(1);
}

static void random_lines(struct md_buf *b)
{
	static const char *const words[] = {
		"vpid",
		"vtid ",
		"procname\n",
		"$app.",
		"a:b",
		"$app.x:y ",
		"perf:thread:",
		"cpu-cycles",
		"raw:r1f:",
		"perf:cpu:",
		" ",
		"\t",
		"\n",
		"!",
		"\"",
		"\\",
		"#",
		"*",
		" * ",
		"!*",
		"5",
		"17 ",
		"4294967295 ",
		"99999999999999999999",
		"-",
		"x",
		" \"vuid\" ",
		"\xff",
		"\x01",
		"\xc3\xa4",
	};
	uint32_t n = below(below(40) ? 10 : 400);

	for (uint32_t i = 0; i < n; i++)
		if (below(20) == 0)
			md_buf_putc(b, (char)(1 + below(255)));
		else
			md_buf_puts(b, words[below(sizeof(words) / sizeof(words[0]))]);
}

static void check_error(int ret, const struct tr_err *err, const char *lines)
{
	if (ret != -EINVAL && ret != -ENOENT && ret != -ENOSPC)
		fail("a strange error", lines);
	if (!err->sentence[0] || err->line < 1 || strchr(err->sentence, '\n') ||
	    strchr(err->text, '\n'))
		fail("no explanation", lines);
	if (err->column < -1 || err->column > (int)strlen(err->text))
		fail("the caret is outside", lines);
}

static void contexts(const char *lines)
{
	struct md_buf text = MD_BUF_INIT, again = MD_BUF_INIT;
	struct context_list some = { 0 }, out = { 0 }, copy = { 0 };
	struct context_values v = { .pid = 1 };
	struct tr_err err = TR_ERR_INIT;
	int ret;

	context_list_apply(&some, DOMAIN_USER, "vpid $app.a:b ip", true, false, &some, NULL);
	ret = context_list_apply(&some, DOMAIN_USER, lines, below(2), false, &out, &err);
	if (ret) {
		check_error(ret, &err, lines);
	} else {
		context_list_print(&out, &text);
		if (context_list_apply(&some, DOMAIN_USER, md_buf_str(&text), true, false, &copy,
				       NULL))
			fail("what was printed is refused", lines);
		context_list_print(&copy, &again);
		if (strcmp(md_buf_str(&text), md_buf_str(&again)))
			fail("read back differently", lines);
		md_buf_reset(&again);
		context_list_put(&copy, &v, &again);
		if (copy.count > TRAIL_CONTEXT_MAX || again.failed || again.len > 17 * copy.count)
			fail("too much", lines);
	}
	context_list_deinit(&some);
	context_list_deinit(&out);
	context_list_deinit(&copy);
	md_buf_deinit(&text);
	md_buf_deinit(&again);
}

/* Process ids only: names would be asked of the system. */
static void tracks(const char *lines)
{
	struct md_buf text = MD_BUF_INIT, again = MD_BUF_INIT;
	struct track some = { 0 }, out = { 0 }, copy = { 0 };
	struct tr_err err = TR_ERR_INIT;
	int ret;

	if (below(2))
		track_apply(&some, TRACK_VPID, "17 5", true, &some, NULL);
	ret = track_apply(&some, TRACK_VPID, lines, below(2), &out, &err);
	if (ret) {
		check_error(ret, &err, lines);
	} else {
		track_print(&out, &text, ' ');
		if (track_apply(&some, TRACK_VPID, md_buf_str(&text), true, &copy, NULL))
			fail("a set that was printed is refused", lines);
		track_print(&copy, &again, ' ');
		if (strcmp(md_buf_str(&text), md_buf_str(&again)))
			fail("a set is read back differently", lines);
		for (size_t i = 0; i < out.count; i++)
			if (!track_has(&out, out.ids[i]) || (i && out.ids[i] <= out.ids[i - 1]))
				fail("a set is not in order", lines);
	}
	track_deinit(&some);
	track_deinit(&out);
	track_deinit(&copy);
	md_buf_deinit(&text);
	md_buf_deinit(&again);
}

int main(int argc, char **argv)
{
	time_t until = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);

	round_now = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	do {
		struct md_buf b = MD_BUF_INIT;
		char *exact;

		seed = round_now * 0x9e3779b97f4a7c15 + 1;
		random_lines(&b);
		/* Of just that size, for the sanitizer to watch its end. */
		exact = strdup(md_buf_str(&b));
		if (!exact)
			return 2;
		contexts(exact);
		tracks(exact);
		free(exact);
		md_buf_deinit(&b);
	} while (++round_now % 256 || time(NULL) < until);
	printf("ok - %llu rounds\n", (unsigned long long)round_now);
	return 0;
}
