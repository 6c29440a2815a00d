// SPDX-License-Identifier: MIT
/*
 * The registration lock: a futex. Its holder has all signals blocked and cannot be cancelled, so no
 * handler runs in it. Who cannot have it may sleep for a while; a sleeper holds nothing, so it may
 * be interrupted, cancelled or left by siglongjmp(3).
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ustlib/base/base.h"

struct object *objects;
bool library_sealed;

enum { FREE, HELD, WAITED_FOR };
static uint32_t lock;    /* guards objects, the arena, slots and attaching */
static uint32_t waiters; /* threads that may be about to sleep; see objects_waiters_gone() */
static bool stuck; /* a sleeper had to give up: no other sleeps before the lock is free again */
static sigset_t lock_mask; /* of the holder: its signal mask, */
static int lock_cancel;    /* and whether it could be cancelled; both as they are to be again */
/* of the holder: objects_lock() in handlers of fork(3), which holds it */
static uint32_t depth;

int64_t now_us(void)
{
	struct timespec ts;

	thread_now(&ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

bool objects_trylock(void)
{
	sigset_t all, old;
	int cancel;
	uint32_t unlocked = FREE;

	if (__atomic_load_n(&lock, __ATOMIC_RELAXED) != FREE)
		return false;
	/* A trace point is no cancellation point, though the calls that attaching makes are. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	/* Acquire pairs with the release in objects_unlock(). */
	if (!__atomic_compare_exchange_n(&lock, &unlocked, HELD, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED)) {
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		pthread_setcancelstate(cancel, NULL);
		return false;
	}
	thread_state.holds = true;
	lock_mask = old;
	lock_cancel = cancel;
	return true;
}

void objects_unlock(void)
{
	sigset_t old = lock_mask;
	int cancel = lock_cancel;

	if (depth) {
		depth--;
		return;
	}
	thread_state.holds = false;
	__atomic_store_n(&stuck, false, __ATOMIC_RELAXED);
	/* All are woken: most find that what they wanted is done. */
	if (__atomic_exchange_n(&lock, FREE, __ATOMIC_RELEASE) == WAITED_FOR)
		syscall(SYS_futex, &lock, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_setcancelstate(cancel, NULL);
}

/* One sleep until `until` (now_us) at most. */
static void sleep_once(int64_t until)
{
	int64_t left = until - now_us();
	const struct old_timespec timeout = { (long)(left / 1000000),
					      (long)(left % 1000000 * 1000) };
	uint32_t held = HELD;

	if (left <= 0)
		return;
	if (!__atomic_compare_exchange_n(&lock, &held, WAITED_FOR, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED) &&
	    held == FREE)
		return;
	syscall(SYS_futex, &lock, FUTEX_WAIT_PRIVATE, WAITED_FOR, &timeout, NULL, 0);
}

bool objects_wait(int64_t until)
{
	bool slept = false;

	/* The holder itself comes here if a function that it calls is traced. */
	if (thread_state.holds || __atomic_load_n(&stuck, __ATOMIC_RELAXED))
		return false;
	/*
	 * Sequentially consistent with trail_seal(): either it sees this waiter, or the waiter sees
	 * that it must not sleep.
	 */
	__atomic_fetch_add(&waiters, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&library_sealed, __ATOMIC_SEQ_CST)) {
		sleep_once(until);
		slept = now_us() < until || __atomic_load_n(&lock, __ATOMIC_RELAXED) == FREE;
	}
	__atomic_fetch_sub(&waiters, 1, __ATOMIC_RELEASE);
	return slept;
}

/*
 * The holder may be a thread that is not here: of the process that this one was forked from without
 * its knowing.
 */
void objects_stuck(void)
{
	__atomic_store_n(&stuck, true, __ATOMIC_RELAXED);
}

/*
 * A thread with a real-time priority must not spin: the holder may need its CPU. No cancellation
 * point, unlike nanosleep(2) of libc.
 */
static void pause_us(long us)
{
	const struct old_timespec ts = { .nsec = us * 1000 };

	syscall(SYS_nanosleep, &ts, NULL);
}

void objects_lock(void)
{
	/* fork(3) calls the program's own handlers between ours, and they may load a library. */
	if (thread_state.holds) {
		depth++;
		return;
	}
	while (!objects_trylock())
		if (!objects_wait(now_us() + 1000000))
			pause_us(500);
}

/*
 * A thread that left its sleep by siglongjmp(3) is counted for ever, so this does not wait for
 * ever.
 */
void objects_waiters_gone(void)
{
	int64_t until = now_us() + 300000;

	while (__atomic_load_n(&waiters, __ATOMIC_ACQUIRE) && now_us() < until)
		pause_us(100);
}

void objects_forked(void)
{
	waiters = 0;
	depth = 0;
	stuck = false;
}

/*
 * If another thread of the parent held the lock, it is not here to release it, and what it was
 * changing is half changed. So nothing is looked at any more: the child is not traced, and does not
 * wait for ever in a constructor or in fork.
 */
void objects_abandon(void)
{
	objects_forked();
	if (__atomic_exchange_n(&lock, FREE, __ATOMIC_ACQ_REL) != FREE)
		__atomic_store_n(&library_sealed, true, __ATOMIC_SEQ_CST);
}
