/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * self MODE: calls getppid, and prints what contexts of that event must be, by what it knows of
 * itself.
 *
 *   plain      as it is
 *   ids        after setting all user and group ids, and its nice value
 *   spaces     in new name spaces of all kinds
 *   stack [-]  prints two addresses of its call stack; with `-` again after a byte
 *   faults N CPU   touches N pages there and runs a child, between two calls
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* As the initial name space has it: /proc is of that. */
static int initial_pid(void)
{
	char text[32];
	ssize_t n = readlink("/proc/self", text, sizeof(text) - 1);

	if (n < 0)
		die("/proc/self");
	text[n] = '\0';
	return atoi(text);
}

/* 0: the kernel was built without them, as armhf's is without those of time. */
static unsigned int space(const char *name)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
	if (stat(path, &st)) {
		if (errno != ENOENT || strcmp(name, "time"))
			die(path);
		return 0;
	}
	return (unsigned int)st.st_ino;
}

/*
 * In the order of the test's list of contexts. up: the parent, in the initial name space; ids:
 * there.
 */
static void tell(int up, const unsigned int ids[6])
{
	static const char *const spaces[] = { "cgroup", "ipc",  "mnt",  "net",
					      "pid",    "time", "user", "uts" };
	static const char *const names[] = { "uid", "euid", "suid", "gid", "egid", "sgid" };
	char comm[16], host[65];
	uid_t u[3];
	gid_t g[3];
	int nice = getpriority(PRIO_PROCESS, 0), pid = initial_pid();

	syscall(SYS_getppid);
	prctl(PR_GET_NAME, comm);
	gethostname(host, sizeof(host));
	getresuid(&u[0], &u[1], &u[2]);
	getresgid(&g[0], &g[1], &g[2]);
	printf("{ pid = %d, tid = %d, procname = \"%s\", vpid = %d, vtid = %d, ppid = %d, vppid = "
	       "%d, prio = %d, nice = %d, hostname = \"%s\"",
	       pid, pid, comm, (int)getpid(), (int)syscall(SYS_gettid), up, (int)getppid(),
	       20 + nice, nice, host);
	for (int i = 0; i < 6; i++)
		printf(", %s = %u", names[i], ids[i]);
	for (int i = 0; i < 6; i++)
		printf(", v%s = %u", names[i], i < 3 ? u[i] : g[i - 3]);
	for (int i = 0; i < 8; i++)
		printf(", %s_ns = %u", spaces[i], space(spaces[i]));
	printf(", preemptible = 1, interruptible = 1, migratable = 1 }\n");
}

static void set_ids(void)
{
	if (setpriority(PRIO_PROCESS, 0, 5) || setgroups(0, NULL) || setresgid(101, 102, 103) ||
	    setresuid(201, 202, 203))
		die("ids");
}

/* Real, effective and saved. */
static void ids_now(unsigned int ids[6])
{
	if (getresuid(&ids[0], &ids[1], &ids[2]) || getresgid(&ids[3], &ids[4], &ids[5]))
		die("ids");
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die(path);
	close(fd);
}

static void in_spaces(void)
{
	unsigned int ids[6];
	int up;

	ids_now(ids);
	if (unshare(CLONE_NEWUSER))
		die("user name space");
	put("/proc/self/setgroups", "deny");
	put("/proc/self/uid_map", "4711 0 1\n");
	put("/proc/self/gid_map", "4712 0 1\n");
	if (unshare(CLONE_NEWUTS | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC |
		    CLONE_NEWCGROUP | (space("time") ? CLONE_NEWTIME : 0)))
		die("name spaces");
	up = initial_pid();
	if (!fork()) {
		if (sethostname("inside", 6))
			die("sethostname");
		tell(up, ids);
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
}

static void __attribute__((noinline)) inner(void)
{
	printf("0x%lx ", (unsigned long)__builtin_return_address(0));
	fflush(stdout);
	/* Here, not in a function of the C library */
#ifdef __x86_64__
	long ret;

	__asm__ volatile("syscall" : "=a" (ret) : "0" (SYS_getppid) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long number __asm__("x8") = SYS_getppid, ret __asm__("x0");

	__asm__ volatile("svc 0" : "=r" (ret) : "r" (number) : "memory");
#elif defined(__riscv)
	register long number __asm__("a7") = SYS_getppid, ret __asm__("a0");

	__asm__ volatile("ecall" : "=r" (ret) : "r" (number) : "memory");
#elif defined(__s390x__)
	register long number __asm__("r1") = SYS_getppid, ret __asm__("r2");

	__asm__ volatile("svc 0" : "=r" (ret) : "r" (number) : "memory");
#else
	long ret = syscall(SYS_getppid);
#endif
	(void)ret;
}

static void __attribute__((noinline)) outer(void)
{
	inner();
	printf("0x%lx\n", (unsigned long)__builtin_return_address(0));
}

static void fault(size_t pages, int where)
{
	cpu_set_t cpu;
	pid_t child;
	char *p;

	CPU_ZERO(&cpu);
	CPU_SET(where, &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	p = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(p, pages * 4096, MADV_NOHUGEPAGE);
	syscall(SYS_getppid);
	for (size_t i = 0; i < pages; i++)
		*(volatile char *)(p + i * 4096) = 1;
	/* At least one context switch: this CPU runs the child as well. */
	child = fork();
	if (!child)
		_exit(0);
	if (child < 0 || waitpid(child, NULL, 0) != child)
		die("fork");
	syscall(SYS_getppid);
	printf("%d\n", (int)getpid());
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "plain";
	unsigned int ids[6];

	if (!strcmp(mode, "stack")) {
		outer();
		fflush(stdout);
		if (argc > 2) {
			getchar();
			outer();
		}
		return 0;
	}
	if (!strcmp(mode, "faults") && argc > 3) {
		fault((size_t)atoi(argv[2]), atoi(argv[3]));
		return 0;
	}
	if (!strcmp(mode, "spaces")) {
		in_spaces();
		return 0;
	}
	if (!strcmp(mode, "ids"))
		set_ids();
	ids_now(ids);
	tell((int)getppid(), ids);
	return 0;
}
