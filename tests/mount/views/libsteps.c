/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail */
/*
 * A clock plug-in, as LTTng-UST's, whose time goes by steps. STEP: how many reads it stands for,
 * before it is a microsecond later. LONG: how many reads, before it is 123 seconds later; 0: never.
 */
#include <stdlib.h>
#include <string.h>

#include "ustlib/lttng/lttng/ust-clock.h"

static uint64_t reads, step, long_step;

static uint64_t read64(void)
{
	uint64_t n = __atomic_fetch_add(&reads, 1, __ATOMIC_RELAXED);

	return UINT64_C(1000000000) + n / step * 1000 +
	       (long_step ? n / long_step * UINT64_C(123000000000) : 0);
}

static uint64_t freq(void)
{
	return 1000000000;
}

static int uuid(char *out)
{
	strcpy(out, "0f7e2a54-91c3-4d3b-8a3a-3d0cb1f1a003");
	return 0;
}

static const char *name(void)
{
	return "steps";
}

void lttng_ust_clock_plugin_init(void);
void lttng_ust_clock_plugin_init(void)
{
	step = strtoull(getenv("STEP"), NULL, 10);
	long_step = strtoull(getenv("LONG"), NULL, 10);
	if (!step || lttng_ust_trace_clock_set_read64_cb(read64) ||
	    lttng_ust_trace_clock_set_freq_cb(freq) || lttng_ust_trace_clock_set_uuid_cb(uuid) ||
	    lttng_ust_trace_clock_set_name_cb(name) ||
	    lttng_ust_trace_clock_set_description_cb(name) ||
	    lttng_ust_enable_trace_clock_override())
		exit(1);
}
