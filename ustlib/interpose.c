// SPDX-License-Identifier: MIT
/*
 * Functions of libc that this library interposes, because they change what it has cached or share
 * what it relies on. Each calls libc's function and informs the rest of the library. Only in the
 * shared library, whose symbols come before libc's. A program that makes these system calls in
 * another way is not noticed: names and ids in contexts are then the old ones.
 *
 *	prctl, pthread_setname_np			the thread's name, and whether it may read
 *							the TSC
 *	set*id, setns, unshare				contexts, and whose application it is
 *	vfork, clone					children that share memory must not record
 *							(thread.c)
 *	_Fork, clone without CLONE_VM			a fork that pthread_atfork does not hear of
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ustlib/lib.h"
#include "trail/site.h"

/* Looked up once by the constructor. A call before that looks up its function itself. */
static void *next(void **cache, const char *name)
{
	void *f = __atomic_load_n(cache, __ATOMIC_RELAXED);

	if (!f) {
		f = dlsym(RTLD_NEXT, name);
		__atomic_store_n(cache, f, __ATOMIC_RELAXED);
	}
	return f;
}

/* ---- names ---- */

TRAIL_EXPORT int prctl(int option, ...)
{
	unsigned long a[4];
	va_list ap;
	bool no_tsc, had_tsc = !thread_state.clock.without_tsc;
	long ret;

	/* As libc does: passes all possible arguments, given or not. */
	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	/* Both make reading the TSC a SIGSEGV for this thread. */
	no_tsc = (option == PR_SET_SECCOMP && a[0] == SECCOMP_MODE_STRICT) ||
		 (option == PR_SET_TSC && a[0] == PR_TSC_SIGSEGV);
	if (no_tsc)
		thread_lose_tsc();
	ret = syscall(SYS_prctl, option, a[0], a[1], a[2], a[3]);
	if (no_tsc ? ret < 0 && had_tsc : !ret && option == PR_SET_TSC)
		thread_regain_tsc();
	if (option == PR_SET_NAME)
		context_changed();
	return (int)ret;
}

static void *real_setname;

TRAIL_EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
	int (*real)(pthread_t, const char *) =
		(int (*)(pthread_t, const char *))next(&real_setname, "pthread_setname_np");
	int err = real ? real(thread, name) : ENOSYS;

	context_changed();
	return err;
}

/* ---- users, groups, namespaces ---- */

#define IDENTITY(name, parameters, arguments) \
	static void *real_##name; \
	TRAIL_EXPORT int name parameters \
	{ \
		int (*real) parameters = (int (*) parameters)next(&real_##name, #name); \
		int ret; \
 \
		if (!real) { \
			errno = ENOSYS; \
			return -1; \
		} \
		ret = real arguments; \
		if (ret == 0) \
			trail__identity_changed(); \
		return ret; \
	}

IDENTITY(setuid, (uid_t uid), (uid))
IDENTITY(seteuid, (uid_t uid), (uid))
IDENTITY(setreuid, (uid_t ruid, uid_t euid), (ruid, euid))
IDENTITY(setresuid, (uid_t ruid, uid_t euid, uid_t suid), (ruid, euid, suid))
IDENTITY(setgid, (gid_t gid), (gid))
IDENTITY(setegid, (gid_t gid), (gid))
IDENTITY(setregid, (gid_t rgid, gid_t egid), (rgid, egid))
IDENTITY(setresgid, (gid_t rgid, gid_t egid, gid_t sgid), (rgid, egid, sgid))
IDENTITY(setns, (int fd, int type), (fd, type))
IDENTITY(unshare, (int flags), (flags))

/* ---- children ---- */

static void *real_fork_, *real_clone;

/* In a child whose beginning no handler of fork(3) saw. */
static void child_begins(void)
{
	objects_abandon();
	thread_mark_forked();
}

TRAIL_EXPORT pid_t _Fork(void)
{
	pid_t (*real)(void) = (pid_t (*)(void))next(&real_fork_, "_Fork");
	pid_t pid;

	if (!real) {
		errno = ENOSYS;
		return -1;
	}
	pid = real();
	if (pid == 0)
		child_begins();
	return pid;
}

struct start {
	int (*fn)(void *);
	void *arg;
};

static int start_forked(void *p)
{
	const struct start *s = p;

	child_begins();
	return s->fn(s->arg);
}

TRAIL_EXPORT int clone(int (*fn)(void *), void *stack, int flags, void *arg, ...)
{
	typedef int clone_fn(int (*)(void *), void *, int, void *, ...);
	clone_fn *real = (clone_fn *)next(&real_clone, "clone");
	struct start start = { fn, arg };
	bool shared = (flags & CLONE_VM) && !(flags & CLONE_SETTLS);
	void *more[3];
	va_list ap;
	int ret;

	va_start(ap, arg);
	for (int i = 0; i < 3; i++)
		more[i] = va_arg(ap, void *);
	va_end(ap);
	if (!real) {
		errno = ENOSYS;
		return -1;
	}
	/* Its memory is a copy, so what is on this stack is there. */
	if (!(flags & CLONE_VM) && fn)
		return real(start_forked, stack, flags, &start, more[0], more[1], more[2]);
	if (shared)
		thread_share();
	ret = real(fn, stack, flags, arg, more[0], more[1], more[2]);
	/* Without CLONE_VFORK the child runs beside this thread, which so stays two. */
	if (shared && (ret < 0 || (flags & CLONE_VFORK)))
		thread_unshare();
	return ret;
}

#if defined(HAVE_SECTIONS) || defined(__s390x__) || defined(__arm__)
/*
 * vfork(2) returns twice on one stack, so it cannot be called through a function in C: the child
 * would overwrite the frame that the parent returns through. The return address waits in a register
 * that both have.
 */
void TRAIL_HIDDEN vfork_begin(void);
int TRAIL_HIDDEN vfork_end(long ret);

void __attribute__((used)) vfork_begin(void)
{
	thread_share();
}

int __attribute__((used)) vfork_end(long ret)
{
	thread_unshare();
	if (ret < 0) {
		errno = (int)-ret;
		return -1;
	}
	return (int)ret;
}

#ifdef __x86_64__
__asm__(".text\n"
	".globl vfork\n"
	".type vfork, @function\n"
	".balign 16\n"
	"vfork:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	subq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call vfork_begin\n"
	"	addq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_register %rip, %rdi\n"
	"	movl $58, %eax\n"               /* SYS_vfork */
	"	syscall\n"
	"	pushq %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %rip, 0\n"
	"	testq %rax, %rax\n"
	"	jz 1f\n"                        /* the child */
	"	movq %rax, %rdi\n"
	"	subq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call vfork_end\n"
	"	addq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"1:	ret\n"
	"	.cfi_endproc\n"
	".size vfork, . - vfork\n");
#elif defined(__riscv)
__asm__(".text\n"
	".globl vfork\n"
	".type vfork, @function\n"
	".balign 4\n"
	"vfork:\n"
	"	.cfi_startproc\n"
	"	addi sp, sp, -16\n"
	"	.cfi_adjust_cfa_offset 16\n"
	"	sd ra, 8(sp)\n"
	"	.cfi_rel_offset ra, 8\n"
	"	call vfork_begin\n"
	"	ld ra, 8(sp)\n"
	"	.cfi_restore ra\n"
	"	addi sp, sp, 16\n"
	"	.cfi_adjust_cfa_offset -16\n"
	"	li a0, 0x4111\n"              /* CLONE_VM, CLONE_VFORK, SIGCHLD */
	"	li a1, 0\n"
	"	li a2, 0\n"
	"	li a3, 0\n"
	"	li a4, 0\n"
	"	li a7, 220\n"                 /* SYS_clone */
	"	ecall\n"
	"	beqz a0, 1f\n"                /* the child */
	"	tail vfork_end\n"
	"1:	ret\n"
	"	.cfi_endproc\n"
	".size vfork, . - vfork\n");
#elif defined(__arm__)
__asm__(".text\n"
	".syntax unified\n"
	".arm\n"
	".globl vfork\n"
	".type vfork, %function\n"
	".balign 4\n"
	"vfork:\n"
	"	.fnstart\n"
	"	.cantunwind\n"
	"	push {r7, lr}\n"
	"	bl vfork_begin\n"
	"	pop {r7, lr}\n"
	"	mov ip, r7\n"
	"	mov r7, #190\n"               /* SYS_vfork */
	"	svc #0\n"
	"	mov r7, ip\n"
	"	cmp r0, #0\n"
	"	bxeq lr\n"                    /* the child */
	"	b vfork_end\n"
	"	.fnend\n"
	".size vfork, . - vfork\n");
#elif defined(__s390x__)
__asm__(".text\n"
	".globl vfork\n"
	".type vfork, @function\n"
	".balign 16\n"
	"vfork:\n"
	"	.cfi_startproc\n"
	"	stmg %r14, %r15, 112(%r15)\n"
	"	.cfi_rel_offset %r14, -48\n"
	"	aghi %r15, -160\n"
	"	.cfi_adjust_cfa_offset 160\n"
	"	brasl %r14, vfork_begin\n"
	"	lmg %r14, %r15, 272(%r15)\n"
	"	.cfi_adjust_cfa_offset -160\n"
	"	.cfi_restore %r14\n"
	"	svc 190\n"                    /* SYS_vfork */
	"	ltgr %r2, %r2\n"
	"	jz 1f\n"                      /* the child */
	"	jg vfork_end\n"
	"1:	br %r14\n"
	"	.cfi_endproc\n"
	".size vfork, . - vfork\n");
#else
__asm__(".text\n"
	".globl vfork\n"
	".type vfork, @function\n"
	".balign 16\n"
	"vfork:\n"
	"	.cfi_startproc\n"
	"	hint #34\n"                    /* bti c */
	"	stp x29, x30, [sp, #-16]!\n"
	"	.cfi_adjust_cfa_offset 16\n"
	"	.cfi_rel_offset x29, 0\n"
	"	.cfi_rel_offset x30, 8\n"
	"	bl vfork_begin\n"
	"	ldp x29, x30, [sp], #16\n"
	"	.cfi_adjust_cfa_offset -16\n"
	"	.cfi_restore x29\n"
	"	.cfi_restore x30\n"
	"	mov x0, #0x4111\n"             /* CLONE_VM, CLONE_VFORK, SIGCHLD */
	"	mov x1, #0\n"
	"	mov x2, #0\n"
	"	mov x3, #0\n"
	"	mov x4, #0\n"
	"	mov x8, #220\n"                /* SYS_clone */
	"	svc #0\n"
	"	cbz x0, 1f\n"                  /* the child */
	"	b vfork_end\n"
	"1:	ret\n"
	"	.cfi_endproc\n"
	".size vfork, . - vfork\n");
#endif
#endif

void interpose_init(void)
{
	next(&real_setname, "pthread_setname_np");
	next(&real_fork_, "_Fork");
	next(&real_clone, "clone");
	next(&real_setuid, "setuid");
	next(&real_seteuid, "seteuid");
	next(&real_setreuid, "setreuid");
	next(&real_setresuid, "setresuid");
	next(&real_setgid, "setgid");
	next(&real_setegid, "setegid");
	next(&real_setregid, "setregid");
	next(&real_setresgid, "setresgid");
	next(&real_setns, "setns");
	next(&real_unshare, "unshare");
}
