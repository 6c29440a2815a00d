/* SPDX-License-Identifier: MIT */
/*
 * LTTng-UST's calls around a clone(2) or a system call that its libraries do not see. libtrail
 * notices a new process by itself. After a change of user or namespace by syscall(2), one of these
 * calls makes the process register again.
 */
#ifndef TRAIL_LTTNG_UST_FORK_H
#define TRAIL_LTTNG_UST_FORK_H

#pragma GCC system_header

#include <signal.h>

#include <trail/site.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline __attribute__((unused)) void lttng_ust_before_fork(sigset_t *saved)
{
	(void)saved;
}

static inline __attribute__((unused)) void lttng_ust_after_fork_parent(sigset_t *saved)
{
	(void)saved;
}

static inline __attribute__((unused)) void lttng_ust_after_fork_child(sigset_t *saved)
{
	(void)saved;
}

#define TRAIL__TP_CHANGED(name) \
	static inline __attribute__((unused)) void lttng_ust_after_##name(void) \
	{ \
		trail__identity_changed(); \
	}
TRAIL__TP_CHANGED(setns)
TRAIL__TP_CHANGED(unshare)
TRAIL__TP_CHANGED(setuid)
TRAIL__TP_CHANGED(setgid)
TRAIL__TP_CHANGED(seteuid)
TRAIL__TP_CHANGED(setegid)
TRAIL__TP_CHANGED(setreuid)
TRAIL__TP_CHANGED(setregid)
TRAIL__TP_CHANGED(setresuid)
TRAIL__TP_CHANGED(setresgid)
#undef TRAIL__TP_CHANGED

#ifdef __cplusplus
}
#endif

#endif
