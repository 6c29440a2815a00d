/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail */
/*
 * chroot DIRECTORY [close]: records jail:before, changes its root directory, closes all
 * descriptors above 2 if that is asked for, and forks. Both processes record jail:parent and
 * jail:child, 100 times. Then each prints a line, waits until its standard input ends, and records
 * jail:late_parent and jail:late_child, 100 times.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <trail/trail.h>

#define EVENTS 100

static void record(bool child)
{
	char c;

	for (int i = 0; i < EVENTS; i++)
		if (child)
			TRAIL(jail, child, i);
		else
			TRAIL(jail, parent, i);
	if (write(1, "ready\n", 6) != 6)
		exit(1);
	while (read(0, &c, 1) > 0)
		;
	for (int i = 0; i < EVENTS; i++)
		if (child)
			TRAIL(jail, late_child, i);
		else
			TRAIL(jail, late_parent, i);
}

int main(int argc, char **argv)
{
	pid_t child;
	int status;

	TRAIL(jail, before, argc);
	if (chroot(argv[1]) || chdir("/"))
		return 77;
	if (argc > 2)
		closefrom(3);
	child = fork();
	if (child < 0)
		return 1;
	record(!child);
	if (!child)
		return 0;
	return waitpid(child, &status, 0) != child || status;
}
