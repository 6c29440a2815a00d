/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hook_calls DIRECTORY: does what LKET's hooks on system calls, processes and signals stand for,
 * once each, with known values. Prints for each hook a line `NAME FIELD:VALUE,…` with the fields
 * that export/lket.txt has there, and at last its own process id.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>

static char buffer[8192];
static int fd;

static void say(const char *hook, const char *format, long a, long b, long c)
{
	printf("%s ", hook);
	printf(format, a, b, c);
	putchar('\n');
}

/* The hook's entry with these fields, and its return with the result of the call. */
static void pair(const char *hook, long result, const char *format, long a, long b, long c)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.entry", hook);
	say(name, format, a, b, c);
	snprintf(name, sizeof(name), "%s.return", hook);
	say(name, "ret:%ld,", result < 0 ? -(long)errno : result, 0, 0);
}

static void call_files(const char *path)
{
	struct iovec v[3] = { { buffer, 10 }, { buffer + 10, 11 }, { buffer + 21, 12 } };
	off_t at = 5;
	long r;

	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0640);
	pair("iosyscall.open", fd, "flags:%ld,mode:%ld,", O_RDWR | O_CREAT | O_TRUNC, 0640, 0);
	r = write(fd, buffer, 4321);
	pair("iosyscall.write", r, "fd:%ld,.*count:%ld,", fd, 4321, 0);
	r = lseek(fd, 7, SEEK_SET);
	pair("iosyscall.lseek", r, "fd:%ld,offset:%ld,whence:%ld,", fd, 7, SEEK_SET);
	r = read(fd, buffer, 1234);
	pair("iosyscall.read", r, "fd:%ld,.*count:%ld,", fd, 1234, 0);
	r = readv(fd, v, 3);
	pair("iosyscall.readv", r, "fd:%ld,.*vlen:%ld,", fd, 3, 0);
	r = writev(fd, v, 2);
	pair("iosyscall.writev", r, "fd:%ld,.*vlen:%ld,", fd, 2, 0);
	r = pread(fd, buffer, 321, 77);
	pair("iosyscall.pread64", r, "fd:%ld,.*count:%ld,pos:%ld,", fd, 321, 77);
	r = pwrite(fd, buffer, 322, 78);
	pair("iosyscall.pwrite64", r, "fd:%ld,.*count:%ld,pos:%ld,", fd, 322, 78);
	r = readahead(fd, 4096, 8192);
	pair("iosyscall.readahead", r, "fd:%ld,offset:%ld,count:%ld,", fd, 4096, 8192);
	r = sendfile(fd, fd, &at, 3);
	pair("iosyscall.sendfile", r, "out_fd:%ld,in_fd:%ld,.*count:%ld,", fd, fd, 3);
	r = fsync(fd);
	pair("iosyscall.fsync", r, "fd:%ld,", fd, 0, 0);
	r = fdatasync(fd);
	pair("iosyscall.fdatasync", r, "fd:%ld,", fd, 0, 0);
	r = flock(fd, LOCK_SH);
	pair("iosyscall.flock", r, "fd:%ld,cmd:%ld,", fd, LOCK_SH, 0);
	sync();
	pair("iosyscall.sync", 0, "", 0, 0, 0);
}

static void call_aio(void)
{
	aio_context_t ctx = 0;
	struct iocb one = { .aio_fildes = (uint32_t)fd, .aio_lio_opcode = IOCB_CMD_PREAD,
			    .aio_buf = (uintptr_t)buffer, .aio_nbytes = 100 };
	struct iocb *list[1] = { &one };
	struct io_event event;
	long r;

	r = syscall(SYS_io_setup, 9, &ctx);
	pair("aio.io_setup", r, "nr_events:%ld,", 9, 0, 0);
	r = syscall(SYS_io_submit, ctx, 1, list);
	pair("aio.io_submit", r, "ctx_id:%ld,nr:%ld,", (long)ctx, 1, 0);
	say("aio.io_submit_one.entry", "", 0, 0, 0);
	say("aio.io_submit_one.return", "", 0, 0, 0);
	r = syscall(SYS_io_getevents, ctx, 1, 1, &event, NULL);
	pair("aio.io_getevents", r, "ctx_id:%ld,min_nr:%ld,nr:%ld,", (long)ctx, 1, 1);
	r = syscall(SYS_io_cancel, ctx, &one, &event);
	pair("aio.io_cancel", r, "ctx_id:%ld,", (long)ctx, 0, 0);
	r = syscall(SYS_io_destroy, ctx);
	pair("aio.io_destroy", r, "ctx:%ld,", (long)ctx, 0, 0);
}

static void on_signal(int number)
{
	(void)number;
}

static void call_signals(void)
{
	long pid = getpid(), tid = syscall(SYS_gettid), r;
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t set;

	r = sigaction(SIGUSR1, &action, NULL);
	pair("signal.do_action", r, "sig:%ld,", SIGUSR1, 0, 0);
	r = kill((pid_t)pid, SIGUSR1);
	pair("signal.syskill", r, "pid:%ld,sig:%ld,", pid, SIGUSR1, 0);
	say("signal.send.entry", "sig:%ld,", SIGUSR1, 0, 0);
	r = syscall(SYS_tgkill, pid, tid, SIGUSR1);
	pair("signal.systgkill", r, "tgid:%ld,pid:%ld,sig:%ld,", pid, tid, SIGUSR1);
	r = syscall(SYS_tkill, tid, SIGUSR1);
	pair("signal.systkill", r, "pid:%ld,sig:%ld,", tid, SIGUSR1, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	r = sigprocmask(SIG_BLOCK, &set, NULL);
	pair("signal.procmask", r, "how:%ld,", SIG_BLOCK, 0, 0);
	r = sigpending(&set);
	pair("signal.pending", r, "sigsetsize:%ld,", 8, 0, 0);
}

static void call_processes(char *program)
{
	pid_t child = fork();

	if (!child) {
		execl(program, program, (char *)NULL);
		_exit(1);
	}
	waitpid(child, NULL, 0);
	say("process.fork", "child_tid:%ld,.*child_pid:%ld,", child, child, 0);
	say("process.execve", "filename:%s,tid:%ld,", (long)program, child, 0);
}

static void call_memory(void)
{
	char *p = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return;
	for (int i = 0; i < 1 << 16; i += 4096)
		p[i] = 1;
	say("pagefault", "", 0, 0, 0);
}

/* A datagram of 777 bytes: 805 with the headers of IP and UDP, 819 with that of Ethernet. */
static void call_network(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int s = socket(AF_INET, SOCK_DGRAM, 0);

	if (s < 0 || sendto(s, buffer, 777, 0, (struct sockaddr *)&to, sizeof(to)) != 777)
		return;
	close(s);
	say("netdev.transmit", "len:%ld,name:lo,", 819, 0, 0);
	say("netdev.receive", "len:%ld,name:lo,", 805, 0, 0);
}

int main(int argc, char **argv)
{
	char path[512];
	long r;

	/* The program that call_processes executes */
	if (argc < 2)
		return 0;
	snprintf(path, sizeof(path), "%s/hook file", argv[1]);
	call_files(path);
	call_aio();
	call_signals();
	call_processes(argv[0]);
	call_memory();
	call_network();
	r = close(fd);
	pair("iosyscall.close", r, "fd:%ld,", fd, 0, 0);
	usleep(1000);
	r = getppid();
	say("syscall.entry", "", 0, 0, 0);
	say("syscall.return", "ret:%ld,", r, 0, 0);
	say("tskdispatch.ctxswitch", "prev_tid:%ld,", getpid(), 0, 0);
	printf("%ld\n", (long)getpid());
	return fflush(stdout) != 0;
}
