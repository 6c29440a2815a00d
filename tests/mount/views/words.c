/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail */
/*
 * words N [BYTES]: that many events whose names and values are special to SQL, and one with a text
 * of that many bytes.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <trail/trail.h>

int main(int argc, char **argv)
{
	int many = argc > 1 ? atoi(argv[1]) : 1;
	const char *where = "it's; -- \"quoted\" `back` \\' \\ %s";
	const char *from = "\xc3\xa9 \xf0\x9f\x98\x80";
	const char *select = "tab\t, line\n, return\r, \x01 \x7f; DROP TABLE table_desc;";
	int64_t group = INT64_MIN;
	double values = NAN;
	float Time = 0.1f;

	for (int time = 0; time < many; time++) {
		uint64_t order = UINT64_MAX - (uint64_t)time;
		uint8_t cpu = (uint8_t)(255 - time);

		TRAIL(sqlite_drop, table, order, group, select, where, from, values, time, Time,
		      cpu);
	}
	TRAIL(sqlite_drop, Table, many, values);
	if (argc > 2) {
		size_t size = (size_t)atol(argv[2]);
		char *text = calloc(1, size + 1);

		if (!text)
			return 1;
		memset(text, 'x', size);
		TRAIL(long, text, text, many);
		free(text);
	}
	return 0;
}
