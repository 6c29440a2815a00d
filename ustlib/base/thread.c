// SPDX-License-Identifier: MIT
/*
 * Threads: the place of their rseq area, the right to read the TSC, tables of descriptors.
 *
 * And children that have their parent's thread-local storage: vfork(2), clone(2) with CLONE_VM but
 * no CLONE_SETTLS. The kernel does not tell such a child's restartable sections from its parent's,
 * so it must not enter one: rseq_self() leads it to an area whose cpu_id is -1, and every slow path
 * asks who it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ustlib/base/base.h"
#include "trail/site.h"

/* glibc 2.35 and later register every thread and export the place. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

static __thread struct rseq_area own_area
	__attribute__((tls_model("initial-exec"))) = { .cpu_id = (uint32_t)-1 };
static __thread struct rseq_area no_area
	__attribute__((tls_model("initial-exec"))) = { .cpu_id = (uint32_t)-1 };
static bool by_libc;

__thread struct thread_state thread_state;
ptrdiff_t rseq_offset;
bool rseq_usable;

static bool is_registered(void)
{
	return __atomic_load_n(&own_area.cpu_id, __ATOMIC_RELAXED) != (uint32_t)-1;
}

/*
 * A signal handler that records an event between the look and the system call registers the
 * thread. The system call then fails, so what counts is what the kernel has stored in the area.
 */
static bool register_self(void)
{
	int saved = errno;

#ifdef SYS_rseq
	if (!is_registered())
		syscall(SYS_rseq, &own_area, sizeof(own_area), 0, RSEQ_SIGNATURE);
#endif
	errno = saved;
	return is_registered();
}

void thread_init(void)
{
#ifdef HAVE_SECTIONS
	const char *wanted = secure_getenv("TRAIL_RSEQ");

	/*
	 * Sections say where they are before they find that there is nothing for them: not over the
	 * thread's own things.
	 */
	rseq_offset = (char *)&own_area - (char *)__builtin_thread_pointer();
	if (wanted && !strcmp(wanted, "0"))
		return;
	if (&__rseq_size && __rseq_size > 0) {
		rseq_offset = __rseq_offset;
		by_libc = rseq_usable = true;
		return;
	}
	rseq_usable = register_self();
#endif
}

bool thread_rseq(void)
{
	return rseq_usable && !by_libc && !library_sealed && register_self();
}

static uint32_t self(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

/* Sections of this thread then read a CPU of -1 before they read the TSC, and leave. */
static void leave_fast_path(void)
{
	thread_state.shift = (char *)&no_area - (char *)rseq_real();
}

void thread_share(void)
{
	int saved = errno;

	if (!thread_state.owner) {
		thread_state.owner = self();
		leave_fast_path();
	}
	errno = saved;
}

void thread_unshare(void)
{
	int saved = errno;

	if (thread_state.owner == self()) {
		thread_state.owner = 0;
		if (!thread_state.clock.without_tsc)
			thread_state.shift = 0;
	}
	errno = saved;
}

void thread_mark_forked(void)
{
	thread_state.owner = 0;
	thread_state.forked = true;
	leave_fast_path();
}

/* ---- descriptors ---- */

#define HIGH_FD_MIN 512

TRAIL_EXPORT void trail__files_are_private(void)
{
	thread_state.private_files = true;
}

int fd_move_up(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD_MIN);

	if (high < 0) /* RLIMIT_NOFILE may be below */
		high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (high < 0 && fd > 2)
		return fd;
	close(fd);
	return high;
}

bool thread_is_foreign(void)
{
	bool foreign;
	int saved = errno;

	if (likely(!thread_state.owner))
		return false;
	foreign = thread_state.owner != self();
	errno = saved;
	return foreign;
}

/* ---- threads that may not read the TSC ---- */

static uint64_t nanoseconds(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * 1000000000u + (uint64_t)ts->tv_nsec;
}

void thread_lose_tsc(void)
{
	struct timespec ts;

#if defined(__x86_64__) || defined(__i386__)
	if (thread_state.clock.without_tsc)
		return;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	thread_state.clock.tsc = __builtin_ia32_rdtsc();
	thread_state.clock.then = nanoseconds(&ts);
	thread_state.clock.without_tsc = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	leave_fast_path();
#else
	(void)ts;
#endif
}

void thread_regain_tsc(void)
{
	if (!thread_state.clock.without_tsc)
		return;
	thread_state.shift = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread_state.clock.without_tsc = false;
}

void thread_now(struct timespec *ts)
{
	struct old_timespec old = { 0 };

	if (!thread_state.clock.without_tsc) {
		clock_gettime(CLOCK_MONOTONIC, ts);
		return;
	}
	/* The vDSO reads the TSC. */
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &old);
	*ts = (struct timespec){ .tv_sec = old.sec, .tv_nsec = old.nsec };
}

uint64_t thread_clock(uint64_t *tsc)
{
	struct timespec ts;
	uint64_t now;

	/*
	 * The coarse clock is a load from the vDSO; any other may be a system call there, or read
	 * the TSC.
	 */
	if (library_sealed)
		clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	else
		thread_now(&ts);
	now = nanoseconds(&ts);
	*tsc = thread_state.clock.tsc;
	return now > thread_state.clock.then ? now - thread_state.clock.then : 0;
}

void thread_forked(void)
{
	thread_state =
		(struct thread_state){ .holds = thread_state.holds, .clock = thread_state.clock };
	if (thread_state.clock.without_tsc)
		leave_fast_path();
}
