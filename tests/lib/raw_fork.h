/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fork(2) that no library sees */
#ifndef TESTS_LIB_RAW_FORK_H
#define TESTS_LIB_RAW_FORK_H

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
/*
 * As programs do that use no libc: its functions, and those of the library in front of them, are
 * not called.
 */
static inline pid_t raw_fork(void)
{
	register long r10 __asm__("r10") = 0;
	register long r8 __asm__("r8") = 0;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"((long)SYS_clone), "D"((long)SIGCHLD), "S"(0L), "d"(0L), "r"(r10),
			   "r"(r8)
			 : "rcx", "r11", "memory");
	return (pid_t)ret;
}
#else
static inline pid_t raw_fork(void)
{
	return fork();
}
#endif

#endif
