// SPDX-License-Identifier: MIT
#include <errno.h>
#include <pthread.h>

#include "ustlib/statedump.h"

#define DUMPS 8

static void (*dumps[DUMPS])(void);      /* filled from the start, never emptied */
static uint32_t asked;                  /* a run is wanted that has not begun */
static uint32_t running;                /* some thread is at it */
/* a run was requested in a constructor: a dump that registers later runs at once */
static bool early;

/* The thread that ran the dump is not in this process. */
static void in_child(void)
{
	asked = running = 0;
}

TRAIL_EXPORT void trail__on_statedump(void (*dump)(void))
{
	int saved = errno;

	for (unsigned int i = 0; i < DUMPS; i++) {
		void (*free_slot)(void) = NULL;

		if (__atomic_load_n(&dumps[i], __ATOMIC_RELAXED) == dump)
			break;
		/* Pairs with the acquire load in run_all. */
		if (!__atomic_compare_exchange_n(&dumps[i], &free_slot, dump, false,
						 __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			continue;
		if (i == 0)
			pthread_atfork(NULL, NULL, in_child);
		if (__atomic_load_n(&early, __ATOMIC_RELAXED))
			dump();
		break;
	}
	errno = saved;
}

static void run_all(void)
{
	for (unsigned int i = 0; i < DUMPS; i++) {
		void (*dump)(void) = __atomic_load_n(&dumps[i], __ATOMIC_ACQUIRE);

		if (!dump)
			break;
		dump();
	}
}

/*
 * A dump emits events, which may attach, which may come here again: so may other threads. `asked`
 * is set before `running` is tested, and tested after `running` is cleared: one of the two sees the
 * other (all sequentially consistent).
 */
void trail__statedump_run(void)
{
	int saved = errno;

	__atomic_store_n(&asked, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&asked, __ATOMIC_SEQ_CST) &&
	       !__atomic_exchange_n(&running, 1, __ATOMIC_SEQ_CST)) {
		while (__atomic_exchange_n(&asked, 0, __ATOMIC_SEQ_CST))
			run_all();
		__atomic_store_n(&running, 0, __ATOMIC_SEQ_CST);
	}
	errno = saved;
}

void statedump_early(void)
{
	__atomic_store_n(&early, true, __ATOMIC_RELAXED);
	trail__statedump_run();
}
