/* SPDX-License-Identifier: MIT */
/*
 * dial.c, exchange.c: questions to the daemons, and their answers. All with the registration lock
 * held, where nothing else is said.
 */
#ifndef USTLIB_EXCHANGE_H
#define USTLIB_EXCHANGE_H

#include "ustlib/lib.h"

struct taken_plan {
	const struct trail_plan *head;
	const struct trail_plan_region *regions;
	const struct trail_plan_context *contexts;
	const struct trail_plan_slot *slots;
	const uint8_t *blob;
	size_t size;
	struct mapped_region *mapped[TRAIL_REGION_MAX];
	int errors[TRAIL_REGION_MAX];                   /* of mapping_get() */
	struct object *objects[TRAIL_OBJECT_MAX];       /* of the question; NULL: unloaded since */
	uint32_t object_count;
};

/*
 * A connection to the lane's daemon (dial.c). -1 with errno: EAGAIN, the kernel's queue is full;
 * EACCES, it is a daemon of another user than root and this one.
 */
int TRAIL_HIDDEN dial(unsigned int lane);
/*
 * TAKEN: attach_apply() was called with the answer. LATE: none yet; the question stays open, see
 * exchange_look(). FAILED: none will come. NO_DAEMON: there is no daemon.
 */
enum outcome { TAKEN, LATE, FAILED, NO_DAEMON };
/*
 * Asks the lane's daemon, and waits attach_ms without a sign of life (attach_total_us() in all). An
 * open question is dropped.
 */
enum outcome TRAIL_HIDDEN exchange(unsigned int lane);
/* takes the answer to an open question if it has come */
enum outcome TRAIL_HIDDEN exchange_look(unsigned int lane);
bool TRAIL_HIDDEN exchange_open(unsigned int lane);             /* there is an open question */
/* it is time to look; without the lock */
bool TRAIL_HIDDEN exchange_due(unsigned int lane, int64_t now);
void TRAIL_HIDDEN exchange_drop(unsigned int lane);
void TRAIL_HIDDEN exchange_forget(const struct object *o);      /* it is unloaded */

#endif
