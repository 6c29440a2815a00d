// SPDX-License-Identifier: MIT
/*
 * A slot's clock and losses, and the wait for room in its ring: what the event path
 * (record.c) needs besides its restartable section. All of it may run in a signal handler.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ustlib/lib.h"
#include "ustlib/plugin.h"
#include "tracer/abi/ring_write.h"
#include "tracer/abi/wide.h"

static uint64_t scale_tsc(uint64_t tsc, uint64_t mult, uint64_t base)
{
	return multiply_shift(tsc, mult) + base;
}

struct plugin_clock plugin_clock;

/*
 * An event that the plug-in itself records has the time 0: the ring then gives it the time of the
 * event before.
 */
static uint64_t read_plugin(void)
{
	static __thread bool reads __attribute__((tls_model("initial-exec")));
	int saved = errno;
	uint64_t now;

	if (reads || !plugin_clock.read)
		return 0;
	reads = true;
	now = plugin_clock.read();
	reads = false;
	errno = saved;
	return now;
}

uint64_t slot_clock(uint64_t mult, uint64_t base)
{
	struct timespec ts;

	if (!mult && base == TRAIL_CLOCK_PLUGIN)
		return read_plugin();
#if defined(__x86_64__) || defined(__i386__)
	if (unlikely(thread_state.clock.without_tsc)) {
		uint64_t tsc, passed = thread_clock(&tsc);

		return mult ? scale_tsc(tsc, mult, base) + passed
			    : thread_state.clock.then + passed;
	}
	if (mult)
		return scale_tsc(__builtin_ia32_rdtsc(), mult, base);
#endif
	(void)mult, (void)base, (void)scale_tsc;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* A ring to whose counters this thread adds atomically. */
static uint8_t *some_ring(const struct slot *slot)
{
	unsigned int cpu;

	if (rseq_usable)
		cpu = __atomic_load_n(&rseq_real()->cpu_id, __ATOMIC_RELAXED);
	else if (library_sealed || syscall(SYS_getcpu, &cpu, NULL, NULL) < 0)
		cpu = 0;
	return slot->rings +
	       (slot->mapping->kind == TRAIL_RINGS_CPU && cpu < slot->mapping->ring_count
			? cpu * slot->ring_stride
			: 0);
}

void slot_lost(const struct slot *slot, uint64_t n)
{
	/* Hits that no filter judges are counted as those that were not missed. */
	if ((__atomic_load_n(&slot->flags, __ATOMIC_RELAXED) & (SLOT_COUNT | SLOT_EXTRA)) ==
		    SLOT_COUNT &&
	    !slot->mapping->counts_only)
		slot_count(slot, n);
	else
		ring_lost((struct trail_ring *)some_ring(slot), n);
}

void slot_count(const struct slot *slot, uint64_t n)
{
	uint64_t ring = ((uintptr_t)&thread_state >> 6) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	uint8_t *at = slot->mapping->kind == TRAIL_RINGS_CPU
			      ? some_ring(slot)
			      : slot->rings + ring % slot->mapping->ring_count * slot->ring_stride;
	struct trail_counter *c = (struct trail_counter *)(void *)(at + slot->data_offset);

	__atomic_fetch_add(&c->added, n, __ATOMIC_RELAXED);
}

bool slot_count_hit(const struct slot *slot)
{
	uint8_t on = __atomic_load_n(slot->on, __ATOMIC_RELAXED);

	if (on == slot->on_value)
		slot_count(slot, 1);
	return !on || on == slot->on_value;
}

bool slot_count_lost(const struct slot *slot)
{
	uint8_t on = __atomic_load_n(slot->on, __ATOMIC_RELAXED);

	if (on == slot->on_value)
		slot_lost(slot, 1);
	return !on || on == slot->on_value;
}

/* Microseconds of CLOCK_MONOTONIC, never 0. */
static uint64_t monotonic_us(void)
{
	struct timespec ts;

	thread_now(&ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000 + 1;
}

/*
 * Sleeps. False: SIGTERM or SIGINT is pending. The signals are blocked during the pause: a handler
 * would run inside a wait that then continues. A thread that blocks them itself does not wait
 * either.
 */
static bool pause_for(uint64_t us)
{
	const struct timespec pause = { .tv_nsec = (long)us * 1000 };
	sigset_t ending, old, pending;

	sigemptyset(&ending);
	sigaddset(&ending, SIGTERM);
	sigaddset(&ending, SIGINT);
	pthread_sigmask(SIG_BLOCK, &ending, &old);
	nanosleep(&pause, NULL);
	sigemptyset(&pending);
	sigpending(&pending);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return !sigismember(&pending, SIGTERM) && !sigismember(&pending, SIGINT);
}

/*
 * Waits for room in a full ring in discard mode, if the user and the channel allow it. The daemon
 * makes room without a notice, so this function polls, at growing intervals, and checks that the
 * daemon lives. A sleep may last much longer than requested: the limit is the time that has passed.
 * *began: when the wait for this event began; 0: not yet.
 */
bool slot_wait(const struct slot *slot, uint64_t *began)
{
	struct mapped_region *m = slot->mapping;
	uint64_t most = __atomic_load_n(&m->blocking, __ATOMIC_RELAXED), passed, us;
	int saved = errno;

	if (!context_may_block || library_sealed || m->mode != TRAIL_MODE_DISCARD || !most)
		return false;
	if (!*began)
		*began = monotonic_us();
	passed = monotonic_us() - *began;
	if (passed >= most)
		return false;
	us = passed < 1000 ? 50 : passed < 100000 ? 1000 : 10000;
	if (!pause_for(us < most - passed ? us : most - passed)) {
		errno = saved;
		return false;
	}
	if ((monotonic_us() - *began) / 200000 != passed / 200000 && !daemon_lives(slot->lane)) {
		/* The next event does not wait either, until a daemon sends an attach reply. */
		__atomic_store_n(&m->blocking, 0, __ATOMIC_RELAXED);
		errno = saved;
		return false;
	}
	errno = saved;
	return __atomic_load_n(slot->on, __ATOMIC_RELAXED) == slot->on_value;
}
