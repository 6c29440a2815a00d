// SPDX-License-Identifier: GPL-2.0-or-later
/* The lock state of hooks: see session/lock_check.h. */
#include "tracer/session/lock_check.h"

#ifdef TRACER_CHECKS_LOCKS

#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/session/session.h"

void lock_check(const struct tracer *t, bool held, const char *hook)
{
	/*
	 * tracer.lock inherits priorities, so its word has the thread id of its holder (futex(2),
	 * FUTEX_LOCK_PI).
	 */
	int word = __atomic_load_n(&t->lock.__data.__lock, __ATOMIC_RELAXED);
	bool ours = (word & FUTEX_TID_MASK) == (int)syscall(SYS_gettid);

	/* A tracer that only reads a state directory has one thread, and needs no lock. */
	if (ours == held || t->reading)
		return;
	fprintf(stderr, "%s is called with tracer.lock %s\n", hook, held ? "not held" : "held");
	abort();
}

#else
typedef int lock_check_is_empty;        /* ISO C wants a declaration in each file */
#endif
