/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * strace_calls DIRECTORY N: more than 40 system calls, each once and with arguments that differ,
 * and getppid(2) N times; prints its pid. Most fail, which does not matter: tests/vm/strace.sh
 * compares what is recorded of them with strace.
 */
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define CALL(name, ...) syscall(SYS_##name, __VA_ARGS__)

/* main() sees to it that their pages are in memory. */
static char one[64] = "/no/such/file", two[64] = "another name", text[256] = "text of 16 bytes";
static char target[] = "the target", type[] = "no type", attribute[] = "user.name";
static char *vector[] = { one, two, NULL };

static void names(void)
{
	CALL(open, one, O_RDWR | O_NOCTTY, 0);
	CALL(openat, -100, one, O_RDONLY, 0);
	CALL(creat, one, 0640);
	CALL(access, one, R_OK);
	CALL(faccessat, -100, two, W_OK);
	CALL(stat, one, text + 64);
	CALL(lstat, two, text + 64);
	CALL(newfstatat, -100, one, text + 64, AT_SYMLINK_NOFOLLOW);
	CALL(unlink, one);
	CALL(unlinkat, -100, one, AT_REMOVEDIR);
	CALL(rename, one, two);
	CALL(renameat2, -100, one, -100, two, RENAME_NOREPLACE);
	CALL(mkdir, one, 0751);
	CALL(rmdir, two);
	CALL(link, one, two);
	CALL(linkat, -100, one, -100, two, AT_SYMLINK_FOLLOW);
	CALL(symlink, target, one);
	CALL(readlink, one, text, 100);
	CALL(chmod, one, 0705);
	CALL(fchmodat, -100, two, 0604);
	CALL(chown, one, 11, 22);
	CALL(fchownat, -100, one, 33, 44, AT_SYMLINK_NOFOLLOW);
	CALL(truncate, one, 123456789L);
	CALL(chdir, one);
	CALL(chroot, one);
	CALL(mknod, one, 0600 | S_IFIFO, 0);
	CALL(statfs, one, text + 64);
	CALL(execve, one, vector, vector + 2);
	CALL(mount, one, two, type, MS_RDONLY, NULL);
	CALL(umount2, two, 2);
	CALL(setxattr, one, attribute, text, 16, 1);
	CALL(getxattr, one, attribute, text, 16);
	CALL(removexattr, one, attribute);
	CALL(inotify_add_watch, -1, one, IN_MODIFY);
	CALL(swapon, one, 0);
	CALL(acct, one);
}

static void numbers(void)
{
	struct sockaddr_un un = { AF_UNIX, "\0nobody listens" };
	struct pollfd pfd = { -1, POLLIN, 0 };

	CALL(read, 99, text, 77);
	CALL(pread64, 99, text, 77, 0x123456789aL);
	CALL(lseek, 99, -5L, SEEK_END);
	CALL(dup2, 98, 97);
	CALL(fcntl, 99, F_SETFD, FD_CLOEXEC);
	CALL(ioctl, 99, 0x5401, text);
	CALL(mprotect, (void *)0x1000, 4096L, 0);
	CALL(munmap, (void *)0x10000, 4096L);
	CALL(socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CALL(bind, 99, &un, sizeof(un));
	CALL(connect, 99, &un, sizeof(un));
	CALL(setsockopt, 99, SOL_SOCKET, SO_REUSEADDR, text, 4);
	CALL(kill, 0, 0);
	CALL(tgkill, -1, -1, 9);
	CALL(getpriority, 0, 7);
	CALL(poll, &pfd, 1, 0);
	CALL(prctl, -1, 1, 2, 3, 4);
	CALL(ftruncate, 99, -1L);
	CALL(sched_setaffinity, -1, 8, text);
	CALL(fallocate, 99, 3, 4096L, 8192L);
}

int main(int argc, char **argv)
{
	char *all[] = { one, two, text, target, type, attribute };
	int n = argc > 2 ? atoi(argv[2]) : 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		*(volatile char *)all[i] = *all[i];
	names();
	numbers();
	for (int i = 0; i < n; i++)
		syscall(SYS_getppid);
	printf("%d\n", (int)getpid());
	return 0;
}
