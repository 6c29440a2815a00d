/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "fs/base/base.h"

static int64_t (*work)(int64_t now);
static int wake = -1;           /* eventfd; constant */
static atomic_bool kicked = true;       /* the work is to be done at the next chores_do() */
static int64_t due = -1;        /* the main thread's: when work is to be called; -1: when kicked */

int64_t chores_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int chores_init(int64_t (*what)(int64_t now))
{
	work = what;
	wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return wake < 0 ? -errno : 0;
}

void chores_kick(void)
{
	const uint64_t one = 1;

	/* Pairs with the exchange in chores_do(): the work sees what was stored before. */
	if (!atomic_exchange(&kicked, true) && write(wake, &one, sizeof(one)) < 0)
		return;         /* the eventfd's count is at its limit, so it is readable */
}

int chores_wake(void)
{
	return wake;
}

int chores_do(void)
{
	int64_t now = chores_clock(), left;
	uint64_t count;

	/* Before the exchange, after which a kick makes the eventfd readable again. */
	if (read(wake, &count, sizeof(count)) < 0)
		count = 0;      /* it is not readable: the time has come, or another event */
	if (atomic_exchange(&kicked, false) || (due >= 0 && now >= due)) {
		due = work(now);
		now = chores_clock();
	}
	left = due < 0 ? -1 : due > now ? due - now : 0;
	return left > INT32_MAX ? INT32_MAX : (int)left;
}
