/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: lttng-ust dl pthread */
/* record.h, with LTTng-UST. */
#include "record.h"

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_provider.h"

static const char sixteen[] = "sixteen bytes ..";

static void record_emit(int i)
{
	lttng_ust_tracepoint(bench, text, i, sixteen);
}

int main(int argc, char **argv)
{
	return record_main(argc, argv);
}
