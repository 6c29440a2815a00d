/* SPDX-License-Identifier: MIT */
/* Plug-ins for the clock and the CPU (lttng/ust-clock.h, ust-getcpu.h): plugin.c. */
#ifndef USTLIB_PLUGIN_H
#define USTLIB_PLUGIN_H

#include "ustlib/lib.h"

/*
 * The clock of the process's plug-in: set by plugin.c before an object registers, constant then.
 * read NULL: there is none.
 */
struct plugin_clock {
	uint64_t (*read)(void);
	uint64_t freq;
	uint8_t uuid[16];
	const char *name, *description;
};
extern TRAIL_HIDDEN struct plugin_clock plugin_clock;   /* slot.c */
/* Once, without the registration lock: loads the plug-ins that the environment names. */
void TRAIL_HIDDEN plugin_load(void) __attribute__((weak));

#endif
