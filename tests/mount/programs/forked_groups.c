/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail */
/*
 * forked_groups FILE COUNT: records groups:parent, and moves itself to a control group: it writes
 * to FILE, which is the group's cgroup.procs. Then it forks COUNT children, one after another. Each
 * child records groups:child 3 times and ends.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <trail/trail.h>

int main(int argc, char **argv)
{
	int fd = argc > 2 ? open(argv[1], O_WRONLY | O_CLOEXEC) : -1, status;

	TRAIL(groups, parent, argc);
	if (fd < 0 || write(fd, "0", 1) != 1)
		return 2;
	for (int child = 0; child < atoi(argv[2]); child++) {
		pid_t pid = fork();

		if (!pid) {
			for (int i = 0; i < 3; i++)
				TRAIL(groups, child, child, i);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			return 2;
	}
	return 0;
}
