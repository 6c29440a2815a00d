/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail */
/* A library with a tracepoint, for test_fork_handlers.c. */
#include <trail/trail.h>

void plugin_hit(int n);

void plugin_hit(int n)
{
	TRAIL(fork_plugin, hit, n);
}
