/* SPDX-License-Identifier: GPL-2.0-or-later */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "blob.h"

int main(void)
{
	lttng_ust_tracepoint(compat_blob, blob, "\211PNG", (size_t)4);
	lttng_ust_tracepoint(compat_blob, blob, "\0\377", (size_t)0);
	return 0;
}
