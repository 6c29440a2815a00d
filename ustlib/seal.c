// SPDX-License-Identifier: MIT
/*
 * trail_seal(), which applications call before they enter a sandbox: attaches now; the library
 * makes no system call afterwards.
 */
#include <errno.h>

#include "ustlib/exchange.h"
#include "ustlib/lib.h"

TRAIL_EXPORT int trail_attach(void)
{
	int64_t until = now_us() + 1000000;
	int saved = errno, err;

	while (!objects_trylock())
		if (library_sealed || (!objects_wait(until) && now_us() >= until))
			return -EAGAIN;
	err = attach_all();
	objects_unlock();
	errno = saved;
	return err;
}

TRAIL_EXPORT int trail_seal(void)
{
	int saved = errno, err = trail_attach();
	bool all;

	objects_lock();
	all = mappings_populate();
	context_fetch();
	for (unsigned int lane = 0; lane < LANES; lane++)
		exchange_drop(lane);
	/* Pairs with the loads at each place that would make a system call. */
	__atomic_store_n(&library_sealed, true, __ATOMIC_SEQ_CST);
	objects_unlock();
	objects_waiters_gone();
	errno = saved;
	return err ? err : all ? 0 : -ENOMEM;
}
