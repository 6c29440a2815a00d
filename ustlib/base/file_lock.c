// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "ustlib/base/base.h"

#define HIGH 500

void file_lock_drop(struct file_lock *l)
{
	struct stat st;

	if (l->fd && !fstat(l->fd, &st) && st.st_dev == l->dev && st.st_ino == l->ino)
		close(l->fd);
	l->fd = 0;
}

void file_lock_keep(struct file_lock *l, int fd)
{
	struct statfs fs;
	struct stat st;
	int high;

	file_lock_drop(l);
	if (!fstatfs(fd, &fs) && fs.f_type == OVERLAYFS_SUPER_MAGIC && !fstat(fd, &st)) {
		high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH);
		if (high < 0)           /* a low RLIMIT_NOFILE */
			high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		if (high > 0)
			*l = (struct file_lock){ high, st.st_dev, st.st_ino };
	}
	close(fd);
}
