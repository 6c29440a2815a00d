/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * Event rules from random words and bytes. What is accepted must read back as it prints, and go
 * away again with `!`; what is refused must be explained and change nothing. Deterministic:
 * fuzz_rule SECONDS ROUND begins at a round.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tracer/base/rule/rule.h"

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
		/* clang-format off */
		"a:b", "my_app:*", "*", "a:\\*", "\"c:d\"", "\"e:f,g\"", "\"a:\\x41\"",
		"sched_switch", "a:b\n!a:b\n", " ", "\t", "\n", "\n", "!", "~", "#", ",", ":", "\"",
		"\\", "\xff", "\xc3\xa4", "\x01", " if x > 1",
		" if s == \"a*\\x01\" && (y[2].z | 4u) < -1.5e3",
		" if $ctx.vpid != $app.a:b || !~c", " && ", " == 0x10", " except ",
		" except a:b,c:*", "excpt", " if x", " loglevel ", " loglevel warning",
		" loglevel <= ", " loglevel err..info", "err", "DEBUG", "14", "15", "..", "<", ">=",
		"==", "!=",
		/* clang-format on */
	};
	uint32_t n = below(12), i;

	for (i = 0; i < n; i++) {
		if (below(20) == 0)
			md_buf_putc(b, (char)(1 + below(255)));
		else if (below(3000) == 0)
			for (uint32_t j = below(6000); j; j--)
				md_buf_putc(b, 'x');
		else
			md_buf_puts(b, words[below(sizeof(words) / sizeof(words[0]))]);
	}
}

static void check_error(int ret, const struct tr_err *err, const struct rule_list *out,
			const char *lines)
{
	if (ret != -EINVAL && ret != -ENOENT && ret != -E2BIG && ret != -ENOSPC)
		fail("a strange error", lines);
	if (!err->sentence[0] || err->line < 1 || strchr(err->sentence, '\n') ||
	    strchr(err->text, '\n'))
		fail("no explanation", lines);
	if (err->column < -1 || err->column > (int)strlen(err->text))
		fail("the caret is outside", lines);
	if (out->rules || out->count)
		fail("a refused write has changed something", lines);
}

static void print(const struct rule_list *l, struct md_buf *b)
{
	md_buf_reset(b);
	rule_list_print(l, b);
	md_buf_str(b);
}

/* A rule that is printed must parse as itself again, and be removed by that text. */
static void check_list(const struct rule_list *l, const char *lines)
{
	struct md_buf text = MD_BUF_INIT, again = MD_BUF_INIT;
	struct rule_list copy = { 0 }, none = { 0 };
	size_t i;

	print(l, &text);
	if (rule_list_apply(NULL, DOMAIN_USER, md_buf_str(&text), true, &copy, NULL))
		fail("what was printed is refused", lines);
	print(&copy, &again);
	if (strcmp(md_buf_str(&text), md_buf_str(&again)))
		fail("read back differently", lines);
	md_buf_reset(&again);
	for (i = 0; i < copy.count; i++) {
		struct rule_list fewer;

		md_buf_reset(&again);
		md_buf_printf(&again, "!%s", copy.rules[i].text);
		if (rule_list_apply(&copy, DOMAIN_USER, md_buf_str(&again), false, &fewer, NULL))
			fail("cannot be removed", lines);
		if (fewer.count >= copy.count)
			fail("was not removed", lines);
		rule_list_deinit(&fewer);
		if (copy.rules[i].level_min > copy.rules[i].level_max ||
		    copy.rules[i].level_min < 0 || copy.rules[i].level_max > 14)
			fail("no range of levels", lines);
	}
	if ((rule_list_decide(&copy, EVENT_KEY("my_app:request"), 6) != 0) !=
	    rule_list_match(&copy, EVENT_KEY("my_app:request"), 6))
		fail("decides otherwise", lines);
	if (rule_list_decide(&copy, EVENT_KEY("a:b"), 6) !=
	    rule_list_decide(l, EVENT_KEY("a:b"), 6))
		fail("the copy decides otherwise", lines);
	if (rule_list_apply(&copy, DOMAIN_USER, "", true, &none, NULL) || none.count)
		fail("cannot be emptied", lines);
	rule_list_deinit(&none);
	rule_list_deinit(&copy);
	md_buf_deinit(&text);
	md_buf_deinit(&again);
}

static bool one_round(void)
{
	struct md_buf b = MD_BUF_INIT;
	struct rule_list out = { 0 };
	struct tr_err err = TR_ERR_INIT;
	char *exact;
	int ret;

	seed = round_now * 0x9e3779b97f4a7c15 + 1;
	random_lines(&b);
	/* Of just that size, for the sanitizer to watch its end. */
	exact = strdup(md_buf_str(&b));
	ret = rule_list_apply(NULL, DOMAIN_USER, exact, below(2), &out, &err);
	if (ret)
		check_error(ret, &err, &out, exact);
	else
		check_list(&out, exact);
	rule_list_deinit(&out);
	free(exact);
	md_buf_deinit(&b);
	return !ret;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atol(argv[1]) : 5);
	uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, taken = 0;

	round_now = first;
	do {
		taken += one_round();
		round_now++;
	} while (round_now % 64 || time(NULL) < end);
	printf("ok - %llu rounds, %llu writes accepted\n", (unsigned long long)(round_now - first),
	       (unsigned long long)taken);
	return 0;
}
