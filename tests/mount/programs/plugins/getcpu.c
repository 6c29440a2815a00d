/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A CPU plug-in, as LTTng-UST's: the CPU is the time that the program shows. */
#include <errno.h>
#include <lttng/ust-getcpu.h>
#include <stdint.h>
#include <stdlib.h>

extern uint64_t virtual_now __attribute__((weak));      /* of the program */

static int getcpu(void)
{
	errno = 77;
	return &virtual_now ? (int)virtual_now : -1;
}

void lttng_ust_getcpu_plugin_init(void);
void lttng_ust_getcpu_plugin_init(void)
{
	if (lttng_ust_getcpu_override(getcpu))
		exit(1);
}
