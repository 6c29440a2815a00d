// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/base/os/cpus.h"

#include <stdio.h>

bool cpus_read(const char *path, cpu_set_t *set, size_t size)
{
	FILE *f = fopen(path, "re");
	unsigned int first, last, ranges = 0;
	int c = ',';

	CPU_ZERO_S(size, set);
	while (f && c == ',' && fscanf(f, "%u", &first) == 1) {
		last = first;
		c = getc(f);
		if (c == '-' && fscanf(f, "%u", &last) == 1)
			c = getc(f);
		for (; first <= last && first < size * 8; first++)
			CPU_SET_S(first, size, set);
		ranges++;
	}
	if (f)
		fclose(f);
	return ranges != 0;
}
