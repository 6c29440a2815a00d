/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patterns of event names: `*` stands for any run of characters, `\*` for a star. */
#ifndef TRACER_BASE_GLOB_H
#define TRACER_BASE_GLOB_H

#include <stdbool.h>

/* One pattern against one name: linear in practice, never exponential. Any thread. */
bool rule_glob(const char *pattern, const char *name);

#endif
