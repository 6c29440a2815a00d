/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a filter ends on an event, as a letter */
#ifndef TESTS_UNIT_FILTER_OUTCOME_H
#define TESTS_UNIT_FILTER_OUTCOME_H

#include <errno.h>

#include "tests/lib/plain_filter.h"

/*
 * T, F: its program holds or not; A always true, N never: without a program; E: types clash. ? and
 * !: wrong.
 */
static inline char outcome(const struct filter *f, const struct sample *s)
{
	const struct filter *const list[] = { f };
	struct filter_event e = sample_event(s);
	struct md_buf out = MD_BUF_INIT;
	int ret = filter_compile(list, 1, &e, &out), run;

	md_buf_deinit(&out);
	if (filter_check(f, &e, NULL) == -EINVAL)
		return ret == 2 ? 'E' : '?';
	run = sample_run(list, 1, s);
	if (run < 0 || run != reference_run(f, s))
		return '!';
	return ret == 1 ? 'A' : ret == 2 ? 'N' : run ? 'T' : 'F';
}

#endif
