// SPDX-License-Identifier: MIT
/*
 * libtrail-cyg-profile-fast.so: lttng_ust_cyg_profile_fast:func_{entry, exit}. As cyg-profile, but
 * with no more than what is needed to build the stacks again; use the context vtid, and discard,
 * not overwrite.
 */
#include "ustlib/preload/point.h"

EXPORT void __cyg_profile_func_enter(void *function, void *call_site);
EXPORT void __cyg_profile_func_exit(void *function, void *call_site);

void __cyg_profile_func_enter(void *addr, void *call_site)
{
	(void)call_site;
	POINT(addr, DEBUG_FUNCTION, lttng_ust_cyg_profile_fast, func_entry, addr);
}

void __cyg_profile_func_exit(void *addr, void *call_site)
{
	(void)call_site;
	POINT(addr, DEBUG_FUNCTION, lttng_ust_cyg_profile_fast, func_exit);
}
