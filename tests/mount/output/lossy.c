/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail */
/*
 * lossy: for each byte on standard input: `e` an event lossy:small, `c` an event in a child of
 * vfork(2), which may only be counted as discarded. Answers with the same byte.
 */
#include <sys/wait.h>
#include <unistd.h>

#include <trail/trail.h>

static void lose(void)
{
	pid_t child = vfork();

	if (child == 0) {
		TRAIL(lossy, child, TRAIL_FIELD(n, 1));
		_exit(0);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
}

int main(void)
{
	char c;

	while (read(0, &c, 1) == 1) {
		if (c == 'e')
			TRAIL(lossy, small, TRAIL_FIELD(n, 1));
		if (c == 'c')
			lose();
		if (write(1, &c, 1) != 1)
			return 1;
	}
	return 0;
}
