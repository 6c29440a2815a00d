/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A clock plug-in, as LTTng-UST's: the time that the program shows. FREQ: its frequency. */
#include <lttng/ust-clock.h>
#include <stdlib.h>
#include <string.h>

extern uint64_t virtual_now __attribute__((weak));      /* of the program */

static uint64_t read64(void)
{
	return &virtual_now ? virtual_now : 1;
}

static uint64_t freq(void)
{
	return (uint64_t)atoi(getenv("FREQ"));
}

static int uuid(char *out)
{
	strcpy(out, atoi(getenv("FREQ")) == 1000 ? "0f7e2a54-91c3-4d3b-8a3a-3d0cb1f1a001"
						 : "0f7e2a54-91c3-4d3b-8a3a-3d0cb1f1a002");
	return 0;
}

static const char *name(void)
{
	return "virtual-time";
}

static const char *description(void)
{
	return "The \"time\" of a simulation";
}

void lttng_ust_clock_plugin_init(void);
void lttng_ust_clock_plugin_init(void)
{
	if (lttng_ust_trace_clock_set_read64_cb(read64) ||
	    lttng_ust_trace_clock_set_freq_cb(freq) || lttng_ust_trace_clock_set_uuid_cb(uuid) ||
	    lttng_ust_trace_clock_set_name_cb(name) ||
	    lttng_ust_trace_clock_set_description_cb(description) ||
	    lttng_ust_enable_trace_clock_override())
		exit(1);
}
