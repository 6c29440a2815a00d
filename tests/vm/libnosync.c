/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/* Preloaded by crash.sh: a disk so slow that no fsync ever ends. */
#include <unistd.h>

int fsync(int fd)
{
	(void)fd;
	for (;;)
		pause();
}

int syncfs(int fd)
{
	return fsync(fd);
}
