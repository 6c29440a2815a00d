// SPDX-License-Identifier: GPL-2.0-or-later
/* The lock state of hooks: see session/lock_check.h. */
#include "tracer/session/lock_check.h"

#ifdef LOCKS_CHECKED

#include "tracer/session/session.h"

static void check(const pthread_mutex_t *lock, bool held, const char *name, const char *hook)
{
	if (lock_held(lock) == held)
		return;
	lock_broken("%s is called with %s %s", hook, name, held ? "not held" : "held");
}

void lock_check(const struct tracer *t, bool held, const char *hook)
{
	/* A tracer that only reads a state directory has one thread, and needs no lock. */
	if (!t->reading)
		check(&t->lock, held, "tracer.lock", hook);
}

void lock_check_session(const struct session *s, const char *hook)
{
	if (!s->tracer->reading)
		check(&s->lock, true, "session.lock", hook);
}

#else
typedef int lock_check_is_empty;        /* ISO C wants a declaration in each file */
#endif
