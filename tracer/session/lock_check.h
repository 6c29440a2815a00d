/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks the lock state of hooks at run time in builds with sanitizers. The program ends if a hook
 * declared "locked" is called without tracer.lock, or an "unlocked" one with it. Other builds
 * contain no check.
 */
#ifndef TRACER_SESSION_LOCK_CHECK_H
#define TRACER_SESSION_LOCK_CHECK_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TRACER_CHECKS_LOCKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TRACER_CHECKS_LOCKS 1
#endif
#endif

struct tracer;

#ifdef TRACER_CHECKS_LOCKS
void lock_check(const struct tracer *t, _Bool held, const char *hook);
#else
static inline void lock_check(const struct tracer *t, _Bool held, const char *hook)
{
	(void)t, (void)held, (void)hook;
}
#endif

/* CALL is a call of a hook; the macro has the value of the call. */
#define LOCKED(t, call) (lock_check(t, 1, #call), (call))
#define UNLOCKED(t, call) (lock_check(t, 0, #call), (call))

#endif
