/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clock of an application's plug-in, as its registration file describes it. */
#ifndef TRACER_APP_PLUGIN_CLOCK_H
#define TRACER_APP_PLUGIN_CLOCK_H

#include <stdbool.h>

#include "tracer/app/registration.h"

/* Of a file with TRAIL_REG_CLOCK, whose strings and tables were found to lie inside. */
bool plugin_clock_check(const uint8_t *data, const struct trail_reg *head);
/* Sets r->clock from a file that was checked. 0 or -ENOMEM. */
int plugin_clock_copy(struct registration *r, const uint8_t *data, const struct trail_reg *head);

#endif
