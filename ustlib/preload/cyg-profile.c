// SPDX-License-Identifier: MIT
/*
 * libtrail-cyg-profile.so: lttng_ust_cyg_profile:func_{entry, exit}, for programs compiled with
 * -finstrument-functions.
 */
#include "ustlib/preload/point.h"

EXPORT void __cyg_profile_func_enter(void *function, void *call_site);
EXPORT void __cyg_profile_func_exit(void *function, void *call_site);

void __cyg_profile_func_enter(void *addr, void *call_site)
{
	POINT(addr, DEBUG_FUNCTION, lttng_ust_cyg_profile, func_entry, addr, call_site);
}

void __cyg_profile_func_exit(void *addr, void *call_site)
{
	POINT(addr, DEBUG_FUNCTION, lttng_ust_cyg_profile, func_exit, addr, call_site);
}
