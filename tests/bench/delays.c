/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * delays: reads events as `babeltrace2 --clock-seconds` prints them, while they come, and at the
 * end prints how long after its time each line came: `EVENTS MEDIAN MOST`, in ms.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double now_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(void)
{
	size_t count = 0, room = 0;
	double *delays = NULL, at;
	char line[4096];

	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "[%lf]", &at) != 1)
			continue;
		if (count == room) {
			room = room ? 2 * room : 4096;
			delays = realloc(delays, room * sizeof(*delays));
			if (!delays)
				return 1;
		}
		delays[count++] = 1e3 * (now_seconds() - at);
	}
	if (!count)
		return 1;
	qsort(delays, count, sizeof(*delays), compare);
	printf("%zu %.1f %.1f\n", count, delays[count / 2], delays[count - 1]);
	free(delays);
	return 0;
}
