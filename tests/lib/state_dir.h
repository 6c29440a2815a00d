/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A new directory in TMPDIR, for the state of a tracer and the registrations of this process. */
#ifndef TESTS_LIB_STATE_DIR_H
#define TESTS_LIB_STATE_DIR_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "tracer/face/tracer.h"

/* One for each process. False: it was not made. */
static inline bool make_state_dir(const char *name, struct tracer_config *config)
{
	static char dir[128];

	snprintf(dir, sizeof(dir), "%s/%s.XXXXXX", getenv("TMPDIR") ?: "/tmp", name);
	if (!mkdtemp(dir))
		return false;
	config->state_dir = dir;
	return !setenv("TRAIL_RUNTIME_DIR", dir, 1);
}

#endif
