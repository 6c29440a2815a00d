/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Log levels: the fifteen of LTTng, from 0 (emerg) to 14 (debug). */
#ifndef TRACER_BASE_LEVEL_H
#define TRACER_BASE_LEVEL_H

#include <stddef.h>

enum { LEVEL_COUNT = 15 };

/* By number ("emerg" … "debug"), and back: in any case, also with TRACE_ before it, or a number. -1: there is no such level. */
const char *level_name(int level);
int level_parse(const char *name, size_t len);
/* The level whose name is nearest, for "did you mean"; NULL: none is near. */
const char *level_nearest(const char *name, size_t len);

#endif
