/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of sessions, channels, snapshots and triggers. */
#ifndef TRACER_BASE_NAME_H
#define TRACER_BASE_NAME_H

#include <stddef.h>
#include "tracer/base/err.h"

/* [A-Za-z0-9_][A-Za-z0-9_.:@+-]*, at most max bytes. 0, -EINVAL or -ENAMETOOLONG with a sentence. */
int name_check(const char *name, size_t max, struct tr_err *err);

#endif
