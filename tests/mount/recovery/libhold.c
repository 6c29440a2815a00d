/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none dl */
/*
 * For LD_PRELOAD, in the daemon: while the file $HOLD exists, the thread that has just replaced a
 * file by renameat(2) removes it, makes $HOLD.reached, and stops until the process is killed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int renameat(int olddir, const char *oldpath, int newdir, const char *newpath)
{
	int (*real)(int, const char *, int, const char *);
	void *symbol = dlsym(RTLD_NEXT, "renameat");
	const char *file = getenv("HOLD");
	char reached[4096];
	int ret;

	memcpy(&real, &symbol, sizeof(real));
	ret = real(olddir, oldpath, newdir, newpath);
	if (ret || !file || unlink(file))
		return ret;
	snprintf(reached, sizeof(reached), "%s.reached", file);
	close(open(reached, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	for (int i = 0; i < 2000; i++)
		usleep(100000);
	return ret;
}
