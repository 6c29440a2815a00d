/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs programs. The interpreter is 4 KiB of code: one copy, not one in each file that filters. */
#include "tracer/abi/filter_interp.h"
#include "tracer/base/filter/filter.h"

bool filter_holds(const void *program, size_t size, const struct filter_input *in)
{
	return filter_run(program, size, in);
}
