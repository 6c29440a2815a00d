/* SPDX-License-Identifier: MIT */
/*
 * The unit tests' few macros. A test is a program: main calls CASE for each static void function,
 * and returns test_summary(): 0 if all checks held, else 1. A case that cannot run says why with
 * SKIP.
 */
#ifndef TESTS_UNIT_TEST_H
#define TESTS_UNIT_TEST_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int test_failed, test_cases, test_case_failed;
static const char *test_skip_reason;

#define CHECK(cond) do { \
	if (!(cond)) { \
		printf("# %s:%d: %s\n", __FILE__, __LINE__, #cond); \
		test_case_failed = 1; \
	} \
} while (0)

#define CHECK_STR(got, want) test_check_str(__FILE__, __LINE__, got, want)

#define SKIP(reason) do { test_skip_reason = (reason); return; } while (0)

#define CASE(function) test_run(#function, function)

/* Shows where two texts part, not all of them: they may be long. */
static inline void test_check_str(const char *file, int line, const char *got, const char *want)
{
	size_t same = 0, from;

	if (!strcmp(got, want))
		return;
	while (got[same] && got[same] == want[same])
		same++;
	from = same > 60 ? same - 60 : 0;
	printf("# %s:%d: differ at byte %zu\n#   got:  %.160s\n#   want: %.160s\n", file, line,
	       same, got + from, want + from);
	test_case_failed = 1;
}

static inline void test_run(const char *name, void (*function)(void))
{
	test_case_failed = 0;
	test_skip_reason = NULL;
	function();
	test_cases++;
	test_failed |= test_case_failed;
	if (test_case_failed)
		printf("not ok %d - %s\n", test_cases, name);
	else if (test_skip_reason)
		printf("ok %d - %s # SKIP %s\n", test_cases, name, test_skip_reason);
	else
		printf("ok %d - %s\n", test_cases, name);
	fflush(stdout);
}

static inline int test_summary(void)
{
	printf("1..%d\n", test_cases);
	return test_failed;
}

#endif
