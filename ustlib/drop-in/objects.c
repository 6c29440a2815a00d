// SPDX-License-Identifier: MIT
/*
 * lttng_ust_statedump and lttng_ust_lib, which LTTng-UST records itself: the code is the helper's
 * (ustlib/preload/dump.h). Nothing is looked at while no session wants these events. A dump that
 * becomes due is the watcher's to make, because what is loaded cannot be looked at everywhere; at
 * the start of the program, the constructor makes it.
 */
#include "ustlib/drop-in/drop_in.h"
#include "ustlib/preload/dump.h"

/* libtrail-dl.so's, if the program was started with it: then it does all this, at each dlopen. */
void trail__dl_update(void *ip) __attribute__((weak));

void objects_points(struct trail__tp *const **begin, struct trail__tp *const **end)
{
	*begin = __start_trail_tps;
	*end = trail__dl_update ? __start_trail_tps : __stop_trail_tps;
}

void objects_look(void *ip)
{
	if (!trail__dl_update)
		dump_look(ip);
}

/* Objects were loaded or unloaded: LTTng's helper calls it after dlopen(3) and dlclose(3). */
TRAIL_EXPORT void lttng_ust_dl_update(void *ip);
TRAIL_EXPORT void lttng_ust_dl_update(void *ip)
{
	if (trail__dl_update)
		trail__dl_update(ip);
	else
		dump_look(ip);
}

/* After those that register the trace points, before those of the program. */
static __attribute__((constructor)) void objects_start(void)
{
	if (!trail__dl_update && dump_init(watcher_poke))
		dump_start();
}
