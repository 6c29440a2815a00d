/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <trail/trail.h>

void library_event(int v);
void plugin_event(int v);

#ifdef PLUGIN
void plugin_event(int v)
{
	TRAIL(api, plugin, v);
}
#else
void library_event(int v)
{
	TRAIL_LEVEL(WARNING, api, library, v);
}
#endif
