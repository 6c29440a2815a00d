/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hits both instances three times; waits for the end of its standard input before it ends. */
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "requests.h"

#include <cstdio>

int main()
{
	Request request = { 7 };
	Request::Private other = { 1, 8 };

	for (int i = 0; i < 3; i++) {
		lttng_ust_tracepoint(requests, begin, &request);
		lttng_ust_tracepoint(requests, wrong, &other);
	}
	while (std::getchar() != EOF)
		;
	return 0;
}
