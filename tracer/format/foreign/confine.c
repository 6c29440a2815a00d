/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/foreign/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "metadata/model.h"
#include "tracer/base/lock_order.h"

#define MEMORY_MAX ((rlim_t)2 << 30)    /* of addresses */
#define FILES_MORE 64u          /* descriptors that are no file of the trace */

/* No ARCH: there is no filter. */
#if defined(__x86_64__) && defined(__LP64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && !MD_HOST_IS_BIG
#define ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCH AUDIT_ARCH_RISCV64
#elif defined(__s390x__)
#define ARCH AUDIT_ARCH_S390X
#elif defined(__powerpc64__) && !MD_HOST_IS_BIG
#define ARCH AUDIT_ARCH_PPC64LE
#endif

static void limit(int resource, rlim_t value)
{
	struct rlimit old, l = { value, value };

	if (!getrlimit((__rlimit_resource_t)resource, &old) && old.rlim_max < value)
		l.rlim_cur = l.rlim_max = old.rlim_max;
	setrlimit((__rlimit_resource_t)resource, &l);
}

/* The kernel spares the daemon when memory is short, and this process has inherited that. */
static void offer_memory(void)
{
	static const char score[] = "500";
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, score, sizeof(score) - 1) < 0)
		errno = 0;
	if (fd >= 0)
		close(fd);
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };

	return syscall(SYS_capset, &header, none) ? -errno : 0;
}

int confine_rights(uid_t uid, gid_t gid, unsigned int files)
{
	offer_memory();
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_NOFILE, files + FILES_MORE);
#ifndef LOCKS_CHECKED
	limit(RLIMIT_AS, MEMORY_MAX);
#endif
	if (!geteuid() && (setgroups(0, NULL) || setresgid(gid, gid, gid) ||
			   setresuid(uid, uid, uid)))
		return -errno;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return -errno;
	return drop_capabilities();
}

#if defined(LOCKS_CHECKED) || !defined(ARCH)

int confine_calls(void)
{
	return 0;
}

#else

/* A call that is allowed if the lower half of an argument has this value in these bits. */
struct call { unsigned int number, argument, mask, value; };

static const struct call calls[] = {
	{ .number = SYS_read }, { .number = SYS_pread64 }, { .number = SYS_pwrite64 },
	{ .number = SYS_lseek }, { .number = SYS_fstat }, { .number = SYS_close },
	{ .number = SYS_sendmsg }, { .number = SYS_recvmsg }, { .number = SYS_sendto },
	{ .number = SYS_recvfrom },
	{ .number = SYS_brk }, { .number = SYS_munmap }, { .number = SYS_mremap },
	{ .number = SYS_madvise }, { .number = SYS_futex },
	{ .number = SYS_mmap, .argument = 2, .mask = PROT_EXEC },
	{ .number = SYS_mprotect, .argument = 2, .mask = PROT_EXEC },
	{ .number = SYS_clock_gettime }, { .number = SYS_gettimeofday },
	{ .number = SYS_rt_sigreturn }, { .number = SYS_rt_sigprocmask },
	{ .number = SYS_restart_syscall }, { .number = SYS_sched_yield },
	{ .number = SYS_exit }, { .number = SYS_exit_group },
	{ .number = SYS_sysinfo },      /* of qsort() */
#ifdef SYS_pwritev2
	{ .number = SYS_pwritev2 },     /* pwrite() of musl since 1.2.6 */
#endif
	/* fstat() of newer libraries */
#ifdef SYS_newfstatat
	{ .number = SYS_newfstatat, .argument = 3, .mask = ~0u, .value = AT_EMPTY_PATH },
#endif
	/* its own limits (confine_time) */
	{ .number = SYS_prlimit64, .argument = 0, .mask = ~0u, .value = 0 },
};

#define CALLS (sizeof(calls) / sizeof(*calls))
#define AT(member) (uint32_t)offsetof(struct seccomp_data, member)
#define LOW_HALF(i) \
	(uint32_t)(offsetof(struct seccomp_data, args) + 8 * (i) + 4 * (unsigned int)MD_HOST_IS_BIG)
#define STEP(code, k) (struct sock_filter)BPF_STMT(code, k)
#define TEST(code, k, yes, no) (struct sock_filter)BPF_JUMP(code, k, yes, no)

int confine_calls(void)
{
	struct sock_filter code[4 + 6 * CALLS + 1], *o = code;
	struct sock_fprog program = { .filter = code };

	*o++ = STEP(BPF_LD | BPF_W | BPF_ABS, AT(arch));
	*o++ = TEST(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	*o++ = STEP(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	for (const struct call *c = calls; c < calls + CALLS; c++) {
		*o++ = STEP(BPF_LD | BPF_W | BPF_ABS, AT(nr));
		*o++ = TEST(BPF_JMP | BPF_JEQ | BPF_K, c->number, 0, c->mask ? 4 : 1);
		if (c->mask) {
			*o++ = STEP(BPF_LD | BPF_W | BPF_ABS, LOW_HALF(c->argument));
			*o++ = STEP(BPF_ALU | BPF_AND | BPF_K, c->mask);
			*o++ = TEST(BPF_JMP | BPF_JEQ | BPF_K, c->value, 0, 1);
		}
		*o++ = STEP(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	*o++ = STEP(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	program.len = (unsigned short)(o - code);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
		return errno == ENOSYS || errno == EINVAL ? 0 : errno ? -errno : -ESRCH;
	return 0;
}

#endif

void confine_time(unsigned int seconds)
{
	struct timespec used;
	struct rlimit l;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) || getrlimit(RLIMIT_CPU, &l))
		return;
	l.rlim_cur = (rlim_t)used.tv_sec + 1 + seconds;
	if (l.rlim_cur > l.rlim_max)
		l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_CPU, &l);
}
