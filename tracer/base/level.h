/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Log levels beside what rule.h says of them. Private to tracer/. */
#ifndef TRACER_BASE_LEVEL_H
#define TRACER_BASE_LEVEL_H

#include <stddef.h>

enum { LEVEL_COUNT = 15 };

/* For "did you mean": NULL if none is near. */
const char *level_nearest(const char *name, size_t len);

#endif
