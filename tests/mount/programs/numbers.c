/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail */
/*
 * numbers: closes its standard input, lowers RLIMIT_NOFILE, hits numbers:hit once, and prints the
 * number that the next open(2) returns, which is 0 unless the library keeps a descriptor there.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include <trail/trail.h>

int main(void)
{
	const struct rlimit few = { 64, 64 };

	if (close(0) || setrlimit(RLIMIT_NOFILE, &few))
		return 1;
	TRAIL(numbers, hit, TRAIL_FIELD(n, 1));
	printf("%d\n", open("/dev/null", O_RDONLY));
	return 0;
}
