/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "fs/base/base.h"

#define PAUSE 1000      /* ms: views are opened one after the other */

static atomic_bool noted;
static int64_t due = -1;        /* the main thread's */

void trim_later(void)
{
	if (!atomic_exchange(&noted, true))
		chores_kick();
}

int64_t trim(int64_t now)
{
	if (due < 0 && atomic_load(&noted))
		due = now + PAUSE;
	if (due < 0 || now < due)
		return due;
	due = -1;
	atomic_store(&noted, false);
	malloc_trim(0);
	return -1;
}
