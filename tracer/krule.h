/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Patterns of event rules of the kernel domain:
 *
 *	NAME  SYSTEM:NAME               tracepoints; NAME is the kernel's or LTTng's; both with `*`, which alone is every tracepoint
 *	syscall:NAME                    entry and exit of system calls, with `*`
 *	syscall:entry:NAME  syscall:exit:NAME
 *
 * The key of an event, that patterns are matched with, is `system:name`, `system:name/lttng_name`, or `syscall:entry:name`.
 */
#ifndef TRACER_KRULE_H
#define TRACER_KRULE_H

#include <stdbool.h>

#include "tracer/word.h"

bool krule_match(const char *pattern, const char *key);
/* What stands behind `syscall:`, `syscall:entry:` or `syscall:exit:`. */
const char *krule_syscall_name(const char *pattern);
/* 0, -EINVAL, or -EOPNOTSUPP for what this build cannot record. */
int krule_check(struct scan *s, struct word *w);

#endif
