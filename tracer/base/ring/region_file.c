/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Regions as files of a directory: where that is persistent memory, they outlive the machine. */
#define _GNU_SOURCE
#include "tracer/base/ring/region_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23          /* Linux 5.14 */
#endif

#define HUGETLBFS 0x958458f6            /* struct statfs.f_type */

/* The descriptor of the directory, or -1. Set before there are other threads. */
static int directory = -1;

int region_directory(const char *path, struct tr_err *err)
{
	struct statfs fs;
	struct stat st;
	int fd;

	/* The next daemon may begin in another directory. */
	if (*path != '/')
		return tr_fail(err, -EINVAL,
			       "the directory of rings '%s' must be an absolute path", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		int ret = -errno;

		if (fd >= 0)
			close(fd);
		return tr_fail(err, ret, "the directory of rings %s cannot be opened: %s", path,
			       strerror(-ret));
	}
	if (st.st_uid != geteuid() || (st.st_mode & 022)) {
		close(fd);
		return tr_fail(err, -EPERM,
			       "the directory of rings %s must belong to this user and be writable "
			       "for no other",
			       path);
	}
	/* Header, switch bytes and rings of a region begin at pages of 4096 bytes. */
	if (!fstatfs(fd, &fs) && (unsigned long)fs.f_type == HUGETLBFS) {
		close(fd);
		return tr_fail(err, -EOPNOTSUPP,
			       "the directory of rings %s is on hugetlbfs, of whose files only "
			       "whole huge pages can be mapped; a tmpfs with huge=always has "
			       "huge pages, too",
			       path);
	}
	if (directory >= 0)
		close(directory);
	directory = fd;
	return 0;
}

bool region_has_directory(void)
{
	return directory >= 0;
}

static void print_name(uint64_t key, char name[REGION_FILE_NAME_MAX])
{
	snprintf(name, REGION_FILE_NAME_MAX, REGION_FILE_PREFIX "%016" PRIx64, key);
}

int region_file_create(uint64_t key)
{
	char name[REGION_FILE_NAME_MAX];
	int fd;

	print_name(key, name);
	fd = openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

void region_file_remove(uint64_t key)
{
	char name[REGION_FILE_NAME_MAX];

	if (directory < 0)
		return;
	print_name(key, name);
	unlinkat(directory, name, 0);
}

bool region_is_file(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 077);
}

int region_file_fill(int fd, uint8_t *map, size_t size)
{
	if (posix_fallocate(fd, 0, (off_t)size))
		return -ENOSPC;
	if (madvise(map, size, MADV_POPULATE_WRITE))
		for (size_t at = 0; at < size; at += TRAIL_PAGE)
			*(volatile uint8_t *)(map + at) = 0;
	return 0;
}
