// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/base/os/memory.h"

#include <inttypes.h>
#include <stdio.h>

uint64_t memory_available(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	uint64_t kilobytes = UINT64_MAX / 1024;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %" SCNu64, &kilobytes) == 1)
			break;
	if (f)
		fclose(f);
	return kilobytes * 1024;
}
