/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks the lock state of hooks at run time in builds with sanitizers. The program ends if a hook
 * declared "locked" is called without tracer.lock, a "session locked" one without session.lock or
 * tracer.lock, or an "unlocked" one with it. Other builds
 * contain no check.
 */
#ifndef TRACER_SESSION_LOCK_CHECK_H
#define TRACER_SESSION_LOCK_CHECK_H

#include "tracer/base/lock_order.h"

struct session;
struct tracer;

#ifdef LOCKS_CHECKED
void lock_check_session(const struct session *s, const char *hook);
void lock_check(const struct tracer *t, _Bool held, const char *hook);
#else
static inline void lock_check_session(const struct session *s, const char *hook)
{
	(void)s, (void)hook;
}

static inline void lock_check(const struct tracer *t, _Bool held, const char *hook)
{
	(void)t, (void)held, (void)hook;
}
#endif

/* CALL is a call of a hook; the macro has the value of the call. */
#define LOCKED(t, call) (lock_check(t, 1, #call), (call))
/* The caller holds session.lock and tracer.lock. */
#define SESSION_LOCKED(s, call) \
	(lock_check_session(s, #call), lock_check((s)->tracer, 1, #call), (call))
#define UNLOCKED(t, call) (lock_check(t, 0, #call), (call))

#endif
