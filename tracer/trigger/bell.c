// SPDX-License-Identifier: GPL-2.0-or-later
/* The bells of regions: futexes in memory that applications share. See listener.h. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/time_types.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tracer/trigger/listener.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449             /* the same on all architectures */
#endif
#define WORD_32 2u                      /* FUTEX_32 of Linux 5.16 */

/* struct futex_waitv of Linux 5.16 */
struct waited_word {
	uint64_t value, address;
	uint32_t flags, reserved;
};

static uint32_t *bell_of(const struct region *r)
{
	return &region_ring(r, 0)->bell;
}

void bell_arm(struct region *r)
{
	/* Sequentially consistent: the caller's loads of heads come after it. */
	__atomic_store_n(bell_of(r), TRAIL_BELL_ARMED, __ATOMIC_SEQ_CST);
}

void bell_disarm(struct region *r)
{
	__atomic_store_n(bell_of(r), 0, __ATOMIC_RELAXED);
}

bool bell_is_armed(const struct region *r)
{
	return __atomic_load_n(bell_of(r), __ATOMIC_ACQUIRE) == TRAIL_BELL_ARMED;
}

void bells_add(struct bells *b, const struct region *r)
{
	if (b->count < BELLS_MAX)
		b->words[b->count++] = bell_of(r);
}

/* An old kernel: the bells are not heard. */
static void wait_for_nudge(const struct bells *b, uint64_t until)
{
	uint64_t now = monotonic_now();
	uint64_t most = b->count ? PERIOD : UINT64_MAX;
	uint64_t left = until <= now ? 0 : until - now;
	uint64_t least = left < most ? left : most;
	/* The kernel's struct timespec; the C library's struct may be larger. */
	const long wait[] = { (long)(least / 1000000000), (long)(least % 1000000000) };

	syscall(SYS_futex, b->nudge, FUTEX_WAIT_PRIVATE, 0,
		until == UINT64_MAX && !b->count ? NULL : wait, NULL, 0);
}

int bells_wait(const struct bells *b, uint64_t until)
{
	static bool missing;    /* the kernel has no futex_waitv(2); of the one thread that waits */
	struct waited_word words[BELLS_MAX + 1];
	const struct __kernel_timespec ts = { (int64_t)(until / 1000000000),
					      (int64_t)(until % 1000000000) };
	long ret;

	if (missing) {
		wait_for_nudge(b, until);
		return -1;
	}
	words[0] = (struct waited_word){
		0, (uintptr_t)b->nudge, WORD_32 | FUTEX_PRIVATE_FLAG, 0
	};
	for (size_t i = 0; i < b->count; i++)
		words[i + 1] = (struct waited_word){
			TRAIL_BELL_ARMED, (uintptr_t)b->words[i], WORD_32, 0
		};
	ret = syscall(SYS_futex_waitv, words, (unsigned int)b->count + 1, 0,
		      until == UINT64_MAX ? NULL : &ts, CLOCK_MONOTONIC);
	if (ret < 0 && (errno == ENOSYS || errno == EPERM || errno == EINVAL))
		missing = true;
	return ret > 0 ? (int)ret - 1 : -1;
}

void bells_nudge(uint32_t *nudge)
{
	__atomic_store_n(nudge, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, nudge, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
