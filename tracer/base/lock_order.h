/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The order of locks. A thread that holds a lock takes only locks of later lines. In builds with
 * sanitizers every file that includes this checks it at run time, and ends the program at a
 * violation; other builds contain no check. What a lock guards is said where it is declared.
 *
 * Locks that have no line here are leaves: while a thread holds one, it takes none of these. (The
 * lock of snapshot/image_check.c is not checked: it is taken before all of them.)
 */
#ifndef TRACER_BASE_LOCK_ORDER_H
#define TRACER_BASE_LOCK_ORDER_H

#include <pthread.h>
#include <stdbool.h>

#define LOCK_RANKS(X)                                                                             \
	X(SETTING, "trigger.setting")           /* may be held for a second: see trigger.h */      \
	X(MAP, "map.lock")                      /* may be held for a second: see map/map.h */      \
	X(SESSION, "session.lock")              /* may be held for a second: see session.h */      \
	X(MAKING, "kernel.making")                                                                 \
	X(TEXT, "text_engine.lock")             /* while text is made */                           \
	X(COUNTS, "counts.lock")                /* while events are counted */                     \
	X(SOURCE, "source.lock")                /* while a stream of a trace image is copied */    \
	X(KCHANNEL, "kchannel.lock")            /* while the kernel's buffers are drained */       \
	X(FOLLOWER, "follower.lock")                                                               \
	X(TRACER, "tracer.lock")                /* short: no waiting, no I/O outside the state */  \
	X(TRIGGERS, "triggers.lock")                                                               \
	X(KERNEL, "kernel.lock")                                                                   \
	X(LISTS, "tracer.lists_lock")           /* while a list is walked or changed */            \
	X(TRACE, "trace.lock")                                                                     \
	X(STREAM_FILES, "stream_files.lock")                                                       \
	X(OUTPUT, "output.lock")                                                                   \
	X(SHARES, "tracer.shares_lock")                                                            \
	X(SHOWN, "session.shown_lock")          /* while a struct is copied */

enum lock_rank {
	LOCK_UNRANKED,
#define LOCK_RANK_NAME(name, text) LOCK_##name,
	LOCK_RANKS(LOCK_RANK_NAME)
#undef LOCK_RANK_NAME
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LOCKS_CHECKED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LOCKS_CHECKED 1
#endif
#endif

#ifdef LOCKS_CHECKED

/* As the functions of pthread.h that they replace. */
int lock_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr, enum lock_rank rank);
int lock_take(pthread_mutex_t *m);
int lock_try(pthread_mutex_t *m);
int lock_release(pthread_mutex_t *m);
int lock_destroy(pthread_mutex_t *m);
/* The calling thread holds the lock, which has a rank. */
bool lock_held(const pthread_mutex_t *m);
/* Adds a line to the report of the sanitizer (its log_path, else stderr) and aborts. */
_Noreturn void lock_broken(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define pthread_mutex_lock(m) lock_take(m)
#define pthread_mutex_trylock(m) lock_try(m)
#define pthread_mutex_unlock(m) lock_release(m)
#define pthread_mutex_destroy(m) lock_destroy(m)

#else

static inline int lock_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr,
			    enum lock_rank rank)
{
	(void)rank;
	return pthread_mutex_init(m, attr);
}

#endif
#endif
