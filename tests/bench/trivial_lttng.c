/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: lttng-ust dl */
/* The same with one tracepoint of LTTng-UST. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_provider.h"

int main(int argc, char **argv)
{
	(void)argv;
	lttng_ust_tracepoint(bench, one, argc);
	return 0;
}
