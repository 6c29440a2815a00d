/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * musl.h - what musl has not of glibc's functions, for `make static`, which includes it in each
 * file. What newer versions have is theirs. Functions of malloc that tune it do nothing here.
 */
#ifndef TOOLS_STATIC_MUSL_H
#define TOOLS_STATIC_MUSL_H

#include <errno.h>
#include <linux/mount.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef RENAME_NOREPLACE        /* before musl 1.2.6 */
#define RENAME_NOREPLACE (1 << 0)
#define RENAME_EXCHANGE (1 << 1)
static inline int renameat2(int from, const char *a, int to, const char *b, unsigned int flags)
{
	return (int)syscall(SYS_renameat2, from, a, to, b, flags);
}
#endif

#ifndef STATX_TYPE              /* before musl 1.2.4 */
#include <linux/stat.h>
#define statx(dir, path, flags, mask, st) (int)syscall(SYS_statx, dir, path, flags, mask, st)
#endif

#define __FLOAT_WORD_ORDER __BYTE_ORDER
#define M_ARENA_MAX -8
#define M_MMAP_THRESHOLD -3
#define M_TRIM_THRESHOLD -1
typedef int __rlimit_resource_t;

static inline int mallopt(int what, int value)
{
	(void)what, (void)value;
	return 1;
}

static inline int malloc_trim(size_t pad)
{
	(void)pad;
	return 0;
}

/* The new thread may then begin on the same CPU. */
static inline int pthread_attr_setaffinity_np(pthread_attr_t *attr, size_t size, const void *cpus)
{
	(void)attr, (void)size, (void)cpus;
	return 0;
}

static inline int close_range(unsigned int first, unsigned int last, int flags)
{
	return (int)syscall(SYS_close_range, first, last, flags);
}

#define fsopen(type, flags) (int)syscall(SYS_fsopen, type, flags)
#define fsconfig(fd, what, key, value, more) \
	(int)syscall(SYS_fsconfig, fd, what, key, value, more)
#define fsmount(fd, flags, attributes) (int)syscall(SYS_fsmount, fd, flags, attributes)
#define sigdescr_np(number) strsignal(number)
/* The name without SIG. */
#define sigabbrev_np(number) \
	((number) == 15   ? "TERM" \
	 : (number) == 2 ? "INT" \
	 : (number) == 1 ? "HUP" \
			 : strsignal(number))
#endif
