/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hook_calls DIRECTORY: does what LKET's hooks on system calls, processes and signals stand for,
 * once each, with known values. Prints for each hook a line `NAME FIELD:VALUE,…` with the fields
 * that export/lket.txt has there, and at last its own process id.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
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
#include <time.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>

static char buffer[8192];
static int fd;

/* An address, as export/lket.txt has it. */
static long at(const void *p)
{
	return (long)(intptr_t)p;
}

static void say_list(const char *hook, const char *format, va_list values)
{
	printf("%s ", hook);
	vprintf(format, values);
	putchar('\n');
}

static void __attribute__((format(printf, 2, 3))) say(const char *hook, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	say_list(hook, format, values);
	va_end(values);
}

/* The hook's entry with these fields, and its return with the result of the call. */
static void __attribute__((format(printf, 3, 4)))
pair(const char *hook, long result, const char *format, ...)
{
	char name[64];
	va_list values;
	long code = result < 0 ? -(long)errno : result;

	va_start(values, format);
	snprintf(name, sizeof(name), "%s.entry", hook);
	say_list(name, format, values);
	va_end(values);
	snprintf(name, sizeof(name), "%s.return", hook);
	say(name, "return:%ld,", code);
}

#ifdef __x86_64__
static sigjmp_buf without;

static void leave_out(int number)
{
	siglongjmp(without, number);
}

/* llseek as a 32-bit program calls it: its number and registers of i386, addresses of 32 bits. */
static void call_llseek(void)
{
	void *result = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	struct sigaction act = { .sa_handler = leave_out }, old;
	int r = 140;

	if (result == MAP_FAILED)
		return;
	/* A kernel without calls of 32 bits sends SIGSEGV. */
	sigaction(SIGSEGV, &act, &old);
	if (!sigsetjmp(without, 1)) {
		__asm__ volatile("int $0x80" : "+a"(r)
				 : "b"(fd), "c"(1), "d"(77), "S"(result), "D"(SEEK_CUR)
				 : "r8", "r9", "r10", "r11", "memory");
		pair("iosyscall.llseek", r,
		     "fd:%d,offset_high:1,offset_low:77,result_addr:%ld,whence:1,", fd, at(result));
	}
	sigaction(SIGSEGV, &old, NULL);
	munmap(result, 4096);
	lseek(fd, 0, SEEK_SET);
}
#else
static void call_llseek(void)
{
}
#endif

static void call_files(const char *path)
{
	struct iovec v[3] = { { buffer, 10 }, { buffer + 10, 11 }, { buffer + 21, 12 } };
	off_t from = 5;
	long r;

	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0640);
	/* A kernel that records no text of system calls has its address. */
	pair("iosyscall.open", fd, "filename:\\(%s\\|0x%lx\\),flags:%d,mode:%d,", path, at(path),
	     O_RDWR | O_CREAT | O_TRUNC, 0640);
	r = write(fd, buffer, 4321);
	pair("iosyscall.write", r, "fd:%d,buf_addr:%ld,count:4321,", fd, at(buffer));
	r = lseek(fd, 7 - 4321, SEEK_END);
	pair("iosyscall.lseek", r, "fd:%d,offset:%d,whence:%d,", fd, 7 - 4321, SEEK_END);
	r = read(fd, buffer, 1234);
	pair("iosyscall.read", r, "fd:%d,buf_addr:%ld,count:1234,", fd, at(buffer));
	r = readv(fd, v, 3);
	pair("iosyscall.readv", r, "fd:%d,vector_addr:%ld,count:3,", fd, at(v));
	r = writev(fd, v, 2);
	pair("iosyscall.writev", r, "fd:%d,vector_addr:%ld,count:2,", fd, at(v));
	r = pread(fd, buffer, 321, 77);
	pair("iosyscall.pread64", r, "fd:%d,buff_addr:%ld,count:321,offset:77,", fd, at(buffer));
	r = pwrite(fd, buffer, 322, 78);
	pair("iosyscall.pwrite64", r, "fd:%d,buff_addr:%ld,count:322,offset:78,", fd, at(buffer));
	r = readahead(fd, 4096, 8192);
	pair("iosyscall.readahead", r, "fd:%d,offset:4096,count:8192,", fd);
	r = sendfile(fd, fd, &from, 3);
	pair("iosyscall.sendfile", r, "out_fd:%d,in_fd:%d,offset_uaddr:%ld,count:3,", fd, fd,
	     at(&from));
	call_llseek();
	r = fsync(fd);
	pair("iosyscall.fsync", r, "fd:%d,", fd);
	r = fdatasync(fd);
	pair("iosyscall.fdatasync", r, "fd:%d,", fd);
	r = flock(fd, LOCK_SH);
	pair("iosyscall.flock", r, "fd:%d,operation:%d,", fd, LOCK_SH);
	sync();
	pair("iosyscall.sync", 0, "%s", "");
}

static void call_aio(void)
{
	aio_context_t ctx = 0;
	struct iocb one = { .aio_fildes = (uint32_t)fd, .aio_lio_opcode = IOCB_CMD_PWRITE,
			    .aio_reqprio = 2 << 13 | 4, .aio_flags = IOCB_FLAG_IOPRIO,
			    .aio_buf = (uintptr_t)buffer, .aio_nbytes = 100, .aio_offset = 33 };
	struct iocb *list[1] = { &one };
	struct timespec wait = { 60, 0 };
	struct io_event event;
	long r;

	r = syscall(SYS_io_setup, 9, &ctx);
	pair("aio.io_setup", r, "nr_events:9,ctxp_uaddr:%ld,", at(&ctx));
	r = syscall(SYS_io_submit, ctx, 1, list);
	pair("aio.io_submit", r, "ctx_id:%lu,nr:1,iocbpp_uaddr:%ld,", ctx, at(list));
	pair("aio.io_submit_one", 0,
	     "ctx:%lu,user_iocb_uaddr:%ld,aio_lio_opcode:%d,aio_reqprio:%d,aio_fildes:%d,"
	     "aio_buf:%ld,aio_nbytes:100,aio_offset:33,",
	     ctx, at(&one), IOCB_CMD_PWRITE, one.aio_reqprio, fd, at(buffer));
	r = syscall(SYS_io_getevents, ctx, 1, 1, &event, &wait);
	pair("aio.io_getevents", r, "ctx_id:%lu,min_nr:1,nr:1,events_uaddr:%ld,timeout:%ld,", ctx,
	     at(&event), at(&wait));
	r = syscall(SYS_io_cancel, ctx, &one, &event);
	pair("aio.io_cancel", r, "ctx_id:%lu,iocb_uaddr:%ld,result_uaddr:%ld,", ctx, at(&one),
	     at(&event));
	r = syscall(SYS_io_destroy, ctx);
	pair("aio.io_destroy", r, "ctx:%lu,", ctx);
}

static void on_signal(int number)
{
	(void)number;
}

static void call_signals(void)
{
	long pid = getpid(), tid = syscall(SYS_gettid), r;
	struct sigaction action = { .sa_handler = on_signal };
	uint64_t set = 1u << (SIGUSR2 - 1), old, kernel_action[4];

	/* As the kernel has it, and the same again from a known place */
	sigaction(SIGUSR1, &action, NULL);
	syscall(SYS_rt_sigaction, SIGUSR1, NULL, kernel_action, sizeof(set));
	r = syscall(SYS_rt_sigaction, SIGUSR1, kernel_action, kernel_action, sizeof(set));
	pair("signal.do_action", r, "sig:%d,\\(handler:%ld\\|act:%ld,oact:%ld,sigsetsize:8\\),",
	     SIGUSR1, (long)(intptr_t)on_signal, at(kernel_action), at(kernel_action));
	r = kill((pid_t)pid, SIGUSR1);
	pair("signal.syskill", r, "pid:%ld,sig:%d,", pid, SIGUSR1);
	say("signal.send.entry", "sig:%d,shared:1,pid:%ld,errno:0,code:%d,comm:hook_calls,"
	    "result:0,", SIGUSR1, pid, SI_USER);
	r = syscall(SYS_tgkill, pid, tid, SIGUSR1);
	pair("signal.systgkill", r, "tid:%ld,pid:%ld,sig:%d,", tid, pid, SIGUSR1);
	r = syscall(SYS_tkill, tid, SIGUSR1);
	pair("signal.systkill", r, "pid:%ld,sig:%d,", tid, SIGUSR1);
	r = syscall(SYS_rt_sigprocmask, SIG_SETMASK, &set, &old, sizeof(set));
	pair("signal.procmask", r, "how:%d,sigset:%ld,oset:%ld,sigsetsize:8,", SIG_SETMASK,
	     at(&set), at(&old));
	r = syscall(SYS_rt_sigpending, &set, sizeof(set));
	pair("signal.pending", r, "sigset_addr:%ld,setsize:8,", at(&set));
}

/* The same calls fail: their results are not 0. */
static void call_wrongly(void)
{
	static const long calls[][5] = {
		{ SYS_close, -1 }, { SYS_fsync, -1 }, { SYS_fdatasync, -1 }, { SYS_flock, -1 },
		{ SYS_readahead, -1 }, { SYS_kill, 1, 999 }, { SYS_tgkill, 1, 1, 999 },
		{ SYS_tkill, 1, 999 }, { SYS_rt_sigpending, 0, 999 }, { SYS_rt_sigaction, 999 },
		{ SYS_rt_sigprocmask, 0, 0, 0, 999 }, { SYS_io_setup, 0, 0 },
		{ SYS_io_submit, 1 }, { SYS_io_getevents, 1 }, { SYS_io_destroy, 1 },
		{ SYS_io_cancel, 1 },
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		syscall(calls[i][0], calls[i][1], calls[i][2], calls[i][3], calls[i][4]);
}

static void call_processes(char *program)
{
	pid_t child = fork();

	if (!child) {
		execl(program, program, (char *)NULL);
		_exit(1);
	}
	waitpid(child, NULL, 0);
	say("process.fork", "new_tid:%d,new_pid:%d,ppid:%d,parent_comm:hook_calls,parent_tid:%d,"
	    "child_comm:hook_calls,", child, child, getpid(), getpid());
	say("process.execve", "tid:%d,pid:%d,ppid:%d,new_process_name:%s,old_tid:%d,", child, child,
	    getpid(), program, child);
}

static void call_memory(void)
{
	char *p = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return;
	/* (A user's write to a page that is not there) */
	*p = 1;
	say("pagefault", "memory_address:%ld,write_access:1,ip:[1-9][0-9]*,error_code:6,", at(p));
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
	say("netdev.transmit", "netdev_name:lo,data_length:%d,protocol:2048,", 819);
	say("netdev.receive", "netdev_name:lo,data_length:%d,protocol:2048,buffer_length:[1-9]",
	    805);
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
	call_wrongly();
	call_processes(argv[0]);
	call_memory();
	call_network();
	r = close(fd);
	pair("iosyscall.close", r, "fd:%d,", fd);
	usleep(1000);
	/* (System calls that no other hook has, with arguments) */
	r = dup2(0, 777);
	say("syscall.entry", "syscall_name:dup2,oldfd:%d,newfd:%ld,", 0, r);
	say("syscall.return", "syscall_name:dup2,ret:%ld,", r);
	say("tskdispatch.ctxswitch",
	    "prev_pid:%d,next_pid:[0-9]*,prev_state:[^,]*,prev_comm:hook_calls,", getpid());
	printf("%ld\n", (long)getpid());
	return fflush(stdout) != 0;
}
