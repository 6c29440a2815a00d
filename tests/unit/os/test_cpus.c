/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of CPUs, as the kernel writes them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "tracer/base/os/cpus.h"

#define CPUS 128

/* The CPUs of a file with this text; "none": it has no list. */
static const char *read_text(const char *text)
{
	static char numbers[CPUS * 5];
	char path[] = "/tmp/test-cpus-XXXXXX";
	int fd = mkstemp(path);
	size_t len = strlen(text), at = 0;
	cpu_set_t set;
	bool some;

	CHECK(fd >= 0 && write(fd, text, len) == (ssize_t)len);
	close(fd);
	memset(&set, 0xff, sizeof(set));
	some = cpus_read(path, &set, CPUS / 8);
	unlink(path);
	numbers[0] = '\0';
	for (unsigned int i = 0; i < CPUS; i++)
		if (CPU_ISSET_S(i, CPUS / 8, &set))
			at += (size_t)snprintf(numbers + at, sizeof(numbers) - at, "%s%u",
					       at ? " " : "", i);
	return some ? numbers : "none";
}

static void reads_lists(void)
{
	cpu_set_t set;

	CHECK_STR(read_text("0\n"), "0");
	CHECK_STR(read_text("0-3\n"), "0 1 2 3");
	CHECK_STR(read_text("0,2-4,7\n"), "0 2 3 4 7");
	CHECK_STR(read_text("126-200,5\n"), "5 126 127");
	CHECK_STR(read_text("300\n"), "");
	CHECK_STR(read_text("4-2\n"), "");
	CHECK_STR(read_text("1-4294967295"), read_text("1-127"));
	CHECK_STR(read_text("\n"), "none");
	CHECK_STR(read_text(""), "none");
	CHECK_STR(read_text("x"), "none");
	CHECK(!cpus_read("/none/at/all", &set, sizeof(set)) && !CPU_COUNT(&set));
	CHECK(cpus_read(CPUS_ONLINE, &set, sizeof(set)) &&
	      CPU_COUNT(&set) == (int)sysconf(_SC_NPROCESSORS_ONLN));
}

int main(void)
{
	CASE(reads_lists);
	return test_summary();
}
