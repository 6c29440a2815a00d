/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * System calls with arguments that are known: prints for each event that must be recorded of them a
 * line `EVENT: { FIELDS }` as `text` shows it, and at last `pid N`. Built for 64 and for 32 bits
 * (tests/vm/module_syscalls.sh). known_calls DIRECTORY
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#ifdef __i386__
#define COMPAT "compat_"
#else
#define COMPAT ""
#endif
/* Newer processors have these calls only with more arguments, by other names. */
#ifdef SYS_poll
#define OLD_CALLS
#endif
#define EXPECT(format, ...) printf(COMPAT "syscall_" format "\n", __VA_ARGS__)
#define P(pointer) ((unsigned long long)(uintptr_t)(pointer))
#define V4 \
	"_v4addr_length = 4, v4addr = [ [0] = 127, [1] = 0, [2] = 0, [3] = 1 ], " \
	"_v6addr_length = 0, v6addr = [ ]"
#define NO_ADDRESS "_v4addr_length = 0, v4addr = [ ], _v6addr_length = 0, v6addr = [ ]"
#define EVENTS(in) "{ POLLIN = " in ", POLLPRI = 0, POLLOUT = 0, POLLERR = 0, POLLHUP = 0 }"

static void strings(const char *dir)
{
	static char name[3001], longer[8000];
	char path[300], *away;
	int fd;

	memset(name, 'n', sizeof(name) - 1);
	memset(longer, 'l', sizeof(longer) - 1);
	syscall(SYS_openat, -100, "/no such", 0, 0);
	EXPECT("entry_openat: { dfd = -100, filename = \"%s\", flags = 0, mode = 0 }", "/no such");
	EXPECT("exit_openat: { ret = %d }", -ENOENT);
#ifdef OLD_CALLS
	syscall(SYS_rename, name, "to");
	EXPECT("entry_rename: { oldname = \"%s\", newname = \"to\" }", name);
	syscall(SYS_symlink, longer, "");
	EXPECT("entry_symlink: { oldname = \"%.4095s\", newname = \"\" }", longer);
	syscall(SYS_unlink, (char *)16);
	EXPECT("entry_unlink: { pathname = \"%s\" }", "");
	EXPECT("exit_unlink: { ret = %d }", -EFAULT);
#else
#ifdef SYS_renameat
	syscall(SYS_renameat, -100, name, -100, "to");
	EXPECT("entry_renameat: { olddfd = -100, oldname = \"%s\", newdfd = -100, "
	       "newname = \"to\" }", name);
#endif
	syscall(SYS_symlinkat, longer, -100, "");
	EXPECT("entry_symlinkat: { oldname = \"%.4095s\", newdfd = -100, newname = \"\" }",
	       longer);
	syscall(SYS_unlinkat, -100, (char *)16, 0);
	EXPECT("entry_unlinkat: { dfd = -100, pathname = \"%s\", flag = 0 }", "");
	EXPECT("exit_unlinkat: { ret = %d }", -EFAULT);
#endif
	syscall(SYS_sethostname, "guest and more", 5L);
	EXPECT("entry_sethostname: { name = \"%s\", len = 5 }", "guest");
	/* What is not in memory is empty; the call itself reads it. */
	snprintf(path, sizeof(path), "%s/away", dir);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || write(fd, "/proc", 6) != 6)
		exit(1);
	away = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	syscall(SYS_chdir, away);
	EXPECT("entry_chdir: { filename = \"%s\" }", "");
	EXPECT("exit_chdir: { ret = %d }", 0);
	syscall(SYS_chdir, away);
	EXPECT("entry_chdir: { filename = \"%s\" }", "/proc");
	EXPECT("exit_chdir: { ret = %d }", 0);
}

static void addresses(void)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_port = htons(4660),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
				   .sin6_port = htons(17),
				   .sin6_addr.s6_addr = { [1] = 1, [15] = 9 } };
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "x" };
	static const char text[] = "abc";

	syscall(SYS_connect, -1, &v4, 16);
	EXPECT("entry_connect: { fd = -1, uservaddr = 0x%llX, addrlen = 0x10, family = 2, dport = "
	       "4660, " V4 " }",
	       P(&v4));
	syscall(SYS_connect, -2, &v4, 8);
	EXPECT("entry_connect: { fd = -2, uservaddr = 0x%llX, addrlen = 0x8, family = 2, dport = "
	       "0, " NO_ADDRESS " }",
	       P(&v4));
	syscall(SYS_connect, -3, &v6, 28);
	EXPECT("entry_connect: { fd = -3, uservaddr = 0x%llX, addrlen = 0x1C, family = 10, dport = "
	       "17, _v4addr_length = 0, v4addr = [ ], "
	       "_v6addr_length = 8, v6addr = [ [0] = 1, [1] = 0, [2] = 0, [3] = 0, [4] = 0, [5] = "
	       "0, [6] = 0, [7] = 9 ] }",
	       P(&v6));
	syscall(SYS_connect, -4, &un, sizeof(un));
	EXPECT("entry_connect: { fd = -4, uservaddr = 0x%llX, addrlen = 0x6E, family = 1, dport = "
	       "0, " NO_ADDRESS " }",
	       P(&un));
	syscall(SYS_connect, -5, 16, -1);
	EXPECT("entry_connect: { fd = -5, uservaddr = 0x%llX, addrlen = 0xFFFFFFFF, family = 0, "
	       "dport = 0, " NO_ADDRESS " }",
	       P(16));
	syscall(SYS_bind, -1, &v4, 16);
	EXPECT("entry_bind: { fd = -1, umyaddr = 0x%llX, addrlen = 16, family = 2, sport = "
	       "4660, " V4 " }",
	       P(&v4));
	syscall(SYS_sendto, -1, text, 3, 0, &v4, 16);
	EXPECT("entry_sendto: { fd = -1, buff = 0x%llX, len = 3, flags = 0, addr = 0x%llX, "
	       "addr_len = 16, family = 2, dport = 4660, " V4 " }",
	       P(text), P(&v4));
}

/* The kernel tells the address of a process that connects. */
static void accepted(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) },
			   peer, own;
	socklen_t n = sizeof(at), len = 100;
	int l = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0), fd;

	if (bind(l, (void *)&at, n) || listen(l, 1) || getsockname(l, (void *)&at, &n) ||
	    connect(c, (void *)&at, n) || syscall(SYS_getsockname, c, &own, &n))
		exit(1);
	EXPECT("exit_getsockname: { ret = 0, family = 2, sport = %d, " V4 " }",
	       ntohs(own.sin_port));
	fd = (int)syscall(SYS_accept4, l, &peer, &len, SOCK_CLOEXEC);
	EXPECT("entry_accept4: { fd = %d, upeer_sockaddr = 0x%llX, upeer_addrlen = 100, flags = "
	       "0x80000 }",
	       l, P(&peer));
	EXPECT("exit_accept4: { ret = %d, upeer_addrlen = 16, family = 2, sport = %d, " V4 " }", fd,
	       ntohs(own.sin_port));
	syscall(SYS_accept4, -1, &peer, &len, 0);
	EXPECT("exit_accept4: { ret = %d, upeer_addrlen = 0, family = 0, sport = 0, " NO_ADDRESS
	       " }",
	       -EBADF);
}

/* q can be read, p cannot. */
static void selecting(int p, int q)
{
#ifdef OLD_CALLS
	struct timeval none = { 0, 0 };
#define SELECT "select"
#define REST ", tvp = 0x%llX }"
#else
	struct timespec none = { 0, 0 };
#define SELECT "pselect6"
#define REST ", tvp = 0x%llX, sig = 0x0 }"
#endif
	fd_set in;

	FD_ZERO(&in);
	FD_SET(p, &in);
	FD_SET(q, &in);
#ifdef SYS__newselect
	syscall(SYS__newselect, 16, &in, NULL, NULL, &none);
#elif defined(OLD_CALLS)
	syscall(SYS_select, 16, &in, NULL, NULL, &none);
#else
	syscall(SYS_pselect6, 16, &in, NULL, NULL, &none, NULL);
#endif
	EXPECT("entry_" SELECT
	       ": { n = 16, _readfds_length = 2, readfds = [ [0] = 0x%X, [1] = 0x%X ], "
	       "_writefds_length = 0, writefds = [ ], "
	       "_exceptfds_length = 0, exceptfds = [ ]" REST,
	       (1u << p | 1u << q) & 255, (1u << p | 1u << q) >> 8, P(&none));
	EXPECT("exit_" SELECT
	       ": { ret = 1, _readfds_length = 2, readfds = [ [0] = 0x%X, [1] = 0x%X ], "
	       "_writefds_length = 0, writefds = [ ], "
	       "_exceptfds_length = 0, exceptfds = [ ] }",
	       1u << q & 255, 1u << q >> 8);
}

static void epolling(int q)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u64 = 0x1122334455667788 }, got[4];
	int ep, fd = e.data.fd;

	ep = (int)syscall(SYS_epoll_create1, 0);
	syscall(SYS_epoll_ctl, ep, EPOLL_CTL_ADD, q, &e);
	EXPECT("entry_epoll_ctl: { epfd = %d, op_enum = ( \"EPOLL_CTL_ADD\" : container = 1 ), fd "
	       "= %d, event = { data_union = { "
	       "u64 = 0x1122334455667788, fd = %d }, raw_events = 0x1, events = { EPOLLIN "
	       "= 1, EPOLLPRI = 0, EPOLLOUT = 0, EPOLLERR = 0, "
	       "EPOLLHUP = 0 } } }",
	       ep, q, fd);
#ifdef OLD_CALLS
#define EPOLL_WAIT "epoll_wait"
	syscall(SYS_epoll_wait, ep, got, 4, 0);
#else
#define EPOLL_WAIT "epoll_pwait"
	syscall(SYS_epoll_pwait, ep, got, 4, 0, NULL, 8L);
#endif
	EXPECT("exit_" EPOLL_WAIT
	       ": { ret = %d, _fds_length = 1, fds = [ [0] = { data_union = { u64 = "
	       "0x1122334455667788, fd = %d }, "
	       "raw_events = 0x1, events = { EPOLLIN = 1, EPOLLPRI = 0, EPOLLOUT = 0, EPOLLERR = "
	       "0, EPOLLHUP = 0 } } ] }",
	       1, fd);
}

static void waiting(void)
{
	struct pollfd fds[2] = { { .events = POLLIN }, { .events = POLLIN } };
	static struct pollfd many[600];
	int p[2], q[2];

	syscall(SYS_pipe2, p, O_CLOEXEC);
	EXPECT("exit_pipe2: { ret = 0, fildes = [ [0] = %d, [1] = %d ] }", p[0], p[1]);
#ifdef OLD_CALLS
	syscall(SYS_pipe, q);
	EXPECT("exit_pipe: { ret = 0, fildes = [ [0] = %d, [1] = %d ] }", q[0], q[1]);
	syscall(SYS_pipe, 16);
	EXPECT("exit_pipe: { ret = %d, fildes = [ [0] = 0, [1] = 0 ] }", -EFAULT);
#else
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, q))
		exit(1);
#endif
	if (write(q[1], "x", 1) != 1)
		exit(1);
	fds[0].fd = p[0];
	fds[1].fd = q[0];
#ifdef OLD_CALLS
#define POLL "poll"
#define UNTIL ", timeout_msecs = 0"
	syscall(SYS_poll, fds, 2, 0);
#else
#define POLL "ppoll"
#define UNTIL ", tsp = 0x0, sigmask = 0x0, sigsetsize = 8"
	syscall(SYS_ppoll, fds, 2, NULL, NULL, 8L);
#endif
	EXPECT("entry_" POLL
	       ": { _fds_length = 2, fds = [ [0] = { fd = %d, raw_events = 0x1, events "
	       "= " EVENTS("1") " }, "
				"[1] = { fd = %d, raw_events = 0x1, events = " EVENTS(
					"1") " } ], nfds = 2" UNTIL " }",
	       p[0], q[0]);
	EXPECT("exit_" POLL
	       ": { ret = 1, _fds_length = 1, fds = [ [0] = { fd = %d, raw_events = 0x1, "
	       "events = " EVENTS("1") " } ] }",
	       q[0]);
	memset(many, 0, sizeof(many));
#ifdef OLD_CALLS
	syscall(SYS_poll, many, 1u << 30, 0);
#else
	syscall(SYS_ppoll, many, 1u << 30, NULL, NULL, 8L);
#endif
	EXPECT("exit_" POLL ": { ret = %d, _fds_length = 0, fds = [ ] }", -EINVAL);
	selecting(p[0], q[0]);
	epolling(q[0]);
}

static void numbers(void)
{
	static const char args[] =
		"args = [ [0] = 1, [1] = 2, [2] = 3, [3] = 4, [4] = 5, [5] = 6 ]";
#ifdef __i386__
	uint64_t result;

	syscall(SYS__llseek, -1, 1, 2, &result, 0);
	EXPECT("entry_llseek: { fd = 4294967295, offset_high = 1, offset_low = 2, result = 0x%llX, "
	       "origin = 0 }",
	       P(&result));
	syscall(SYS_pread64, -1, &result, 8, 2, 1);
	EXPECT("entry_pread64: { fd = 4294967295, buf = 0x%llX, count = 8, pos_low = 2, pos_high = "
	       "1 }",
	       P(&result));
	syscall(SYS_chown, "", 7, 65535);
	EXPECT("entry_chown16: { filename = \"%s\", user = 7, group = 65535 }", "");
	syscall(SYS_waitpid, -7, 0, 1);
	EXPECT("entry_waitpid: { pid = %d, stat_addr = 0x0, options = 1 }", -7);
	syscall(SYS_clock_gettime64, 99, &result);
	EXPECT("entry_clock_gettime64: { which_clock = 99, tp = 0x%llX }", P(&result));
#endif
	syscall(SYS_lseek, -1, -5L, 1);
	EXPECT("entry_lseek: { fd = 4294967295, offset = -5, whence = %d }", 1);
	syscall(500, 1L, 2L, 3L, 4L, 5L, 6L);
	EXPECT("entry_unknown: { id = 500, %s }", args);
	EXPECT("exit_unknown: { id = 500, ret = %d }", -ENOSYS);
	syscall(1000, 1L, 2L, 3L, 4L, 5L, 6L);
	EXPECT("entry_unknown: { id = 1000, %s }", args);
	for (int i = 0; i < 300; i++)
		syscall(SYS_getppid);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	setvbuf(stdout, NULL, _IOFBF, 1 << 20);
	strings(argv[1]);
	addresses();
	accepted();
	waiting();
	numbers();
	printf("pid %d\n", (int)getpid());
	return 0;
}
