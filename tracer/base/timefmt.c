// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <time.h>

#include "tracer/base/timefmt.h"

void time_print(int64_t ns, enum time_format format, char out[TIME_TEXT_MAX])
{
	static const char *const formats[] = {
		[TIME_FORMAT_STATUS] = "%Y-%m-%dT%H:%M:%S%z",
		[TIME_FORMAT_TRACE] = "%Y%m%dT%H%M%S%z",
		[TIME_FORMAT_NAME] = "%Y%m%d-%H%M%S",
	};
	time_t sec = (time_t)(ns / 1000000000);
	struct tm tm;

	if (!localtime_r(&sec, &tm) || !strftime(out, TIME_TEXT_MAX, formats[format], &tm))
		snprintf(out, TIME_TEXT_MAX, "%lld", (long long)sec);
}
